"""Maps of resource amounts (`limits`, `hard`, `capacity`) as the kinds of the core group carry them.

Structure checks have seen to it that every value is a quantity; JSON numbers count as the text they spell.
Used by the defaults and the validation of pods, nodes, quotas and limit ranges.
"""

from __future__ import annotations

from typing import Any

from fairlead.core.problems import Problems
from fairlead.core.quantity import Quantity, canonical, from_json, parse
from fairlead.model.kind import Json

NOT_NEGATIVE = "must be greater than or equal to 0"
NOT_WHOLE = "must be an integer"
_NANO = 10**9


def nanos(quantity: Any) -> int:
    """The exact amount in billionths, for comparing."""
    return parse(quantity).nano if type(quantity) is str else from_json(quantity).nano


def format_amount(amount: int) -> str:
    """An amount in billionths, as Kubernetes would print it."""
    return str(Quantity(amount, "binary" if amount and amount % (1024 * _NANO) == 0 else "decimal"))


def spell_amounts(amounts: Json | None) -> None:
    """Give every amount the spelling that Kubernetes keeps: 0.5 becomes 500m, 1024Mi becomes 1Gi."""
    if amounts:
        for name, quantity in amounts.items():
            amounts[name] = canonical(quantity) if type(quantity) is str else str(from_json(quantity))


def validate_amount(quantity: Any, path: str, problems: Problems, *, whole: bool = False) -> None:
    """Not below zero, and, for things that are not divisible, an integer."""
    amount = nanos(quantity)
    if amount < 0:
        problems.invalid(path, quantity, NOT_NEGATIVE)
    elif whole and amount % _NANO:
        problems.invalid(path, quantity, NOT_WHOLE)
