"""Sima'an's (2003) comparison, from a treebank to Table 2: four algorithms by three parsers."""

from __future__ import annotations

from pathlib import Path

from mbrparse.evaluate.evalb.parameters import write_collins
from mbrparse.experiments.runs import claim_folder, fingerprint
from mbrparse.experiments.simaan.division import Division, read_parts
from mbrparse.experiments.simaan.parser_kinds import parser_kinds
from mbrparse.experiments.simaan.steps import Steps
from mbrparse.experiments.simaan.table2 import judge, write_tables
from mbrparse.grammar.words.unknown import UnknownKind
from mbrparse.reporting import Tell, say_nothing
from mbrparse.treebank.prepare import Account
from mbrparse.workers.executor import Jobs


def compare_algorithms(
    spec: str,
    folder: Path,
    division: Division,
    unknown: UnknownKind | None = "collins",
    rare: int | None = None,
    node_cost: float = 0.0,
    resamples: int = 10_000,
    seed: int = 0,
    jobs: Jobs = 1,
    encoding: str = "utf-8",
    tell: Tell = say_nothing,
) -> str:
    """Run the comparison on a treebank; return Table 2 for people.

    The folder gets for each parser its gold, grammar, parses and tables, and the experiment's own tables.
    """
    account = Account()
    parts = read_parts(spec, division, encoding, account.skip)
    if account.dropped:
        tell(f"{account.dropped.total()} malformed trees left out; first: {account.first_error}")
    kinds = parser_kinds()
    settings = {
        "training trees": fingerprint([source.tree for source in parts.train]),
        "test trees": fingerprint([source.tree for source in parts.test]),
        "unknown words": unknown or "none",
        "rare words": "the model's own" if rare is None else rare,
        "node cost": node_cost,
    }
    claim_folder(folder, settings, [kind.name for kind in kinds])
    parameters = write_collins(folder / "COLLINS.prm")
    judged = []
    for kind in kinds:
        steps = Steps(kind, folder / kind.name, parts, unknown, rare, node_cost, tell)
        judged.append(judge(steps, steps.run(jobs), parameters, resamples, seed))
    title = f"Sima'an (2003), Table 2, on {spec}: {len(parts.train)} and {len(parts.test)} trees"
    return write_tables(judged, folder, title, settings)
