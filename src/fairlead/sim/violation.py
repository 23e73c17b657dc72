"""A broken invariant: which, and how it shows. Raised by checkers and by the world, reported with the seed."""

from __future__ import annotations


class Violation(Exception):
    def __init__(self, invariant: str, message: str) -> None:
        super().__init__(f"{invariant}: {message}")
        self.invariant, self.message = invariant, message
