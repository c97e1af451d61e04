"""EVALB's mending of misquotes: a quotation mark that one side has tagged as something else.

Source: EVALB's QUOTE_LABEL and its behaviour. A parser that tags a closing quote as a possessive keeps
a terminal that is deleted from the gold, and the two yields no longer fit. Where yields have different
lengths, the deleted mark is put back.
"""

from __future__ import annotations

from mbrparse.evaluate.evalb.line import EvalbLine, Quote
from mbrparse.evaluate.evalb.parameters import EvalbParameters


def mend_quotes(gold: EvalbLine, test: EvalbLine, parameters: EvalbParameters) -> None:
    """Put deleted quotation marks back, in either line, where the other line has kept its own.

    Marks are paired by the number of terminals before them. Each one put back moves those behind it,
    and it is by the moved numbers that later ones are paired.
    """
    deleted = parameters.deleted
    for right in range(len(test.quotes)):
        place = test.quotes[right].place
        for left in range(len(gold.quotes)):
            ours, theirs = gold.quotes[left], test.quotes[right]
            if ours.place != place or (ours.tag in deleted) == (theirs.tag in deleted):
                continue
            if ours.tag in deleted:
                _put_back(gold, left)
            else:
                _put_back(test, right)


def _put_back(line: EvalbLine, number: int) -> None:
    quote = line.quotes[number]
    line.nested = False  # as a rule it still is
    line.words.insert(quote.place, quote.word)
    line.tags.insert(quote.place, quote.tag)
    for bracket in range(quote.bracket, len(line.starts)):
        line.starts[bracket] += 1
        line.ends[bracket] += 1
    for bracket in quote.inside:
        line.ends[bracket] += 1
    line.quotes[number:] = [_moved(later) for later in line.quotes[number:]]


def _moved(quote: Quote) -> Quote:
    return quote._replace(place=quote.place + 1)
