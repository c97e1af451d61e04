"""Which numbers and which types arguments have, at the door of the command line and at that of Python."""

from __future__ import annotations

#: The most of a count, and of a seed: arrays, JSON and random generators hold these.
MOST_COUNT, MOST_SEED = 10**9, 2**63 - 1
