"""How long to wait before whatever failed is tried again. Pure: chance arrives as an argument, 0 <= chance < 1."""

from __future__ import annotations

_DOUBLINGS_MAX = 62


def backoff(
    failures: int, first_seconds: float, most_seconds: float, jitter: float = 0.0, chance: float = 0.0
) -> float:
    """Seconds after so many failures in a row, from 1: doubled by each after the first, at most `most_seconds`; then
    spread by chance over 1 +- jitter."""
    plain = min(first_seconds * 2.0 ** min(failures - 1, _DOUBLINGS_MAX), most_seconds)
    return plain * (1 + jitter * (2 * chance - 1))
