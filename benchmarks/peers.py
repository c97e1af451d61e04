"""What PyPI offers, on a few sentences of the small grammar, beside ours on the same sentences."""

from __future__ import annotations

import math
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from samples import SMALL, Sample, encoded, read_sample

from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.grammar.pcfg import PCFG, IntArray

PEER_SECONDS = 20.0  # give or take the last sentence
TORCH_SENTENCES, TORCH_LENGTH = 8, 15


def report(folder: Path) -> None:
    """Print a line for each peer."""
    sample = read_sample(folder, SMALL.name)
    print("\nWhat PyPI offers, small grammar, seconds of CPU time a sentence (ours on the same sentences)")
    nltk_viterbi(sample)
    if find_spec("torch") is None or find_spec("torch_struct") is None:
        print("  torch-struct is not installed (pip install torch torch-struct)")
    else:
        torch_struct_marginals(sample)


def line(title: str, sentences: list[IntArray], theirs: float, ours: float) -> None:
    """One peer's result."""
    count, mean = len(sentences), sum(map(len, sentences)) / len(sentences)
    print(
        f"  {title}, {count} sentences of mean length {mean:.0f}: {theirs / count:.3g} "
        f"({ours / count:.2g}; {theirs / ours:.3g} times)",
        flush=True,
    )


def seconds_of(factory: ChartFactory, sentences: list[IntArray]) -> float:
    """The median of some runs of ours."""
    times = []
    for _ in range(8):
        began = time.process_time()
        for sentence in sentences:
            factory.chart(sentence).viterbi()
        times.append(time.process_time() - began)
    return float(np.median(times[1:]))


def nltk_viterbi(sample: Sample) -> None:
    """NLTK's ViterbiParser on the shortest sentences, as many as the time allows."""
    from nltk import grammar as nltk_grammar
    from nltk.parse.viterbi import ViterbiParser

    grammar = sample.grammar
    symbol = [nltk_grammar.Nonterminal(name) for name in grammar.symbols]
    productions = [
        nltk_grammar.ProbabilisticProduction(
            symbol[parent], [symbol[left], symbol[right]], prob=math.exp(log_prob)
        )
        for parent, left, right, log_prob in zip(
            grammar.parent, grammar.left, grammar.right, grammar.log_prob, strict=True
        )
    ] + [
        nltk_grammar.ProbabilisticProduction(
            symbol[parent], [grammar.terminals[terminal]], prob=math.exp(log_prob)
        )
        for parent, terminal, log_prob in zip(
            grammar.lexical_symbol, grammar.lexical_terminal, grammar.lexical_log_prob, strict=True
        )
    ]
    root = int(np.argmax(grammar.root_log_prob))
    parser = ViterbiParser(nltk_grammar.PCFG(symbol[root], productions))
    done: list[IntArray] = []
    spent = 0.0
    for sentence in sorted(encoded(sample), key=len):
        if len(sentence) < 5:
            continue
        if spent > PEER_SECONDS:
            break
        began = time.process_time()
        for _ in parser.parse([grammar.terminals[terminal] for terminal in sentence]):
            break
        spent += time.process_time() - began
        done.append(sentence)
    line("NLTK ViterbiParser", done, spent, seconds_of(ChartFactory(grammar), done))


def torch_struct_marginals(sample: Sample) -> None:
    """torch-struct's SentCFG on the CPU: inside, and outside by its own differentiation."""
    torch, torch_struct = import_module("torch"), import_module("torch_struct")

    torch.set_num_threads(1)
    torch.distributions.Distribution.set_default_validate_args(False)
    grammar = sample.grammar
    terms, rules, roots, number = dense_rules(grammar)
    sentences = sorted((s for s in encoded(sample) if len(s) >= TORCH_LENGTH), key=len)
    done: list[IntArray] = []
    spent = 0.0
    # One sentence at a time: it takes memory by the gigabyte as it is.
    for sentence in sentences[:TORCH_SENTENCES]:
        if spent > PEER_SECONDS:
            break
        began = time.process_time()
        words = torch.full((1, len(sentence), len(terms)), -1e9)
        for position, terminal in enumerate(sentence.tolist()):
            words[0, position, number[terminal]] = 0.0
        parameters = (words, torch.from_numpy(rules)[None], torch.from_numpy(roots)[None])
        distribution = torch_struct.SentCFG(parameters, torch.tensor([len(sentence)]))
        _ = distribution.marginals
        spent += time.process_time() - began
        done.append(sentence)
    line(
        "torch-struct SentCFG.marginals (CPU, single precision)",
        done,
        spent,
        seconds_of(ChartFactory(grammar), done),
    )


def dense_rules(grammar: PCFG) -> tuple[list[int], Any, Any, dict[int, int]]:
    """Log probabilities as torch-struct takes them: nonterminals first, then the tags."""
    wide = np.unique(grammar.parent).tolist()
    tags = [symbol for symbol in range(len(grammar.symbols)) if symbol not in set(wide)]
    place = {symbol: position for position, symbol in enumerate([*wide, *tags])}
    order = np.array([place[symbol] for symbol in range(len(grammar.symbols))])
    rules = np.full((len(wide), len(order), len(order)), -1e9, np.float32)
    rules[order[grammar.parent], order[grammar.left], order[grammar.right]] = grammar.log_prob
    roots = np.maximum(grammar.root_log_prob[wide], -1e9).astype(np.float32)
    number = {
        int(terminal): place[int(symbol)] - len(wide)
        for symbol, terminal in zip(grammar.lexical_symbol, grammar.lexical_terminal, strict=True)
    }
    return tags, rules, roots, number
