"""What prefixes.py asks genlm-grammar, in an environment that has it: a line of JSON in, one out.

First [terminals, rules (probability, symbol, children), sentences], answered by a title; then "prefixes" or
"next words", answered by CPU seconds and the values of all sentences.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

from genlm.grammar import CFG, EOS, EarleyLM, Float


def null_weight(grammar: Any) -> Any:
    """The weight of the empty string by symbol.

    Their own stops after 100,000 updates, which is too few for a treebank grammar: its prefixes' weights are
    then a tenth of what they should be. These sums, theirs too, converge. Parsing takes the same time.
    """
    empty = grammar.spawn(V=set())
    for rule in grammar:
        if not any(map(grammar.is_terminal, rule.body)):
            empty.add(rule.w, rule.head, *rule.body)
    return empty.naive_bottom_up(tol=1e-15)


def main() -> None:
    """Answer until there is no more question."""
    terminals, rules, sentences = json.loads(sys.stdin.readline())
    CFG.null_weight = null_weight
    grammar = CFG(R=Float, S="root", V=set(terminals))
    for prob, symbol, children in rules:
        grammar.add(prob, symbol, *children)
    model = EarleyLM(grammar).model
    name = f"genlm-grammar {version('genlm-grammar')}, {len(sentences)} sentences"
    print(json.dumps(name), flush=True)
    prefixes = [[tuple(one[:length]) for length in range(len(one) + 1)] for one in sentences]
    for line in sys.stdin:
        with_next = json.loads(line) == "next words"
        model.clear_cache()  # of the prefixes that they have seen
        began = time.process_time()
        if with_next:
            found = [[model.next_token_weights(model.chart(one)) for one in each] for each in prefixes]
        else:
            found = [[model(one) for one in each] for each in prefixes]
        spent = time.process_time() - began
        if with_next:
            found = [[shares(one, [*terminals, EOS]) for one in each] for each in found]
        print(json.dumps([spent, found]), flush=True)


def shares(weights: Any, terminals: list[str]) -> list[float]:
    """Probabilities by terminal."""
    total = sum(weights.values()) or float("nan")
    return [weights[terminal] / total for terminal in terminals]


if __name__ == "__main__":
    main()
