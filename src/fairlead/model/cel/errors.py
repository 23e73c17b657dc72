"""What can be wrong with an expression: when it is written, when it runs, and when it runs for too long."""

from __future__ import annotations


class ExpressionError(ValueError):
    """The text cannot be used. The message says why and where; raised when a policy or a definition is written."""

    def __init__(self, why: str, text: str = "", offset: int = 0) -> None:
        self.why = why
        before = text[:offset]
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        super().__init__(f"ERROR: <input>:{self.line}:{self.column}: {why}")


class EvaluationError(Exception):
    """It has no value for this object; what follows from that is the caller's affair (`failurePolicy`)."""


class CostExceeded(Exception):
    """It would take longer than it may. No operator takes this for an error that another operand may outweigh."""
