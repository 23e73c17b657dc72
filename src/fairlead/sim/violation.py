"""A broken invariant: which, and how it shows. Raised by checkers and by the world, reported with the seed."""

from __future__ import annotations


class Violation(Exception):
    def __init__(self, invariant: str, message: str, overdue: bool = False) -> None:
        """`overdue`: it is what was not done in time, and no write broke it."""
        super().__init__(f"{invariant}: {message}")
        self.invariant, self.message, self.overdue = invariant, message, overdue
        self.revision = 0  # of the commit that shows it, if it is one
