"""Holm's correction once more, from its procedure."""

from __future__ import annotations


def naive_holm(p_values: list[float]) -> list[float]:
    """For each test, the least level at which Holm's procedure, step by step, rejects it."""

    def rejected(level: float) -> set[int]:
        done: set[int] = set()
        while len(done) < len(p_values):
            least = min(
                (place for place in range(len(p_values)) if place not in done), key=p_values.__getitem__
            )
            if p_values[least] * (len(p_values) - len(done)) > level:
                break
            done.add(least)
        return done

    steps = {p * count for p in p_values for count in range(1, len(p_values) + 1)} | {1.0}
    levels = sorted(min(step, 1.0) for step in steps)
    return [
        next((level for level in levels if place in rejected(level)), 1.0) for place in range(len(p_values))
    ]
