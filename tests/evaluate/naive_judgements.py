"""What a page says of each constituent, found by comparing every pair of constituents."""

from collections.abc import Sequence

Constituent = tuple[int, int, str]


def crosses(one: Constituent, other: Constituent) -> bool:
    (a, b, _), (c, d, _) = one, other
    return a < c < b < d or c < a < d < b


def judged(gold: Sequence[Constituent], guess: Sequence[Constituent]) -> list[str]:
    """Of each constituent of a guess: right, the gold's label, crossing or extra.

    ``gold`` and ``guess`` hold no span twice, which makes it simple.
    """
    found = []
    for one in guess:
        same_span = [other for other in gold if other[:2] == one[:2]]
        if one in gold:
            found.append("right")
        elif same_span:
            found.append(f"gold {same_span[0][2]}")
        elif any(crosses(one, other) for other in gold):
            found.append("crossing")
        else:
            found.append("extra")
    return found
