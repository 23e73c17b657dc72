"""An expression that is ready to run. Made when a policy or a definition is written and when a server learns of it.

Kubernetes bounds what an expression may cost: a million steps, which its interpreter makes in about a tenth of a
second. So does ours, but it makes a tenth as many steps in that time, and nobody else is served meanwhile: its bound is
a tenth of Kubernetes'. It is counted while the expression runs, so that no estimate can be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.core.bounded_dict import BoundedDict
from fairlead.model.cel.checker import TypeChecker
from fairlead.model.cel.compiler import Frame, compiled
from fairlead.model.cel.errors import CostExceeded, EvaluationError, ExpressionError
from fairlead.model.cel.estimate import estimate_cost
from fairlead.model.cel.parser import parse
from fairlead.model.cel.static import StaticType
from fairlead.model.cel.syntax import SyntaxNode, names_in

#: bound: policies | steps of one expression | an error, which `failurePolicy` decides about
EXPRESSION_COST_MAX = 100_000
#: bound: policies | steps of all expressions for one request | an error, which `failurePolicy` decides about
REQUEST_COST_MAX = 300_000
_PARSED_KEPT = 1024

PATCHES = frozenset({"Object", "JSONPatch"})


class Budget:
    """What all expressions for one request may still cost."""

    __slots__ = ("left",)

    def __init__(self, left: int = REQUEST_COST_MAX) -> None:
        self.left = left


class Program:
    """`run` gives the value, or raises EvaluationError."""

    __slots__ = ("_run", "_tree", "returns", "text", "uses")

    def __init__(self, text: str, tree: SyntaxNode, returns: StaticType) -> None:
        self.text = text
        self._tree = tree
        self._run = compiled(tree)
        self.returns = returns
        self.uses = names_in(tree)  # its own variables included

    def cost_max(self, scope: Mapping[str, StaticType]) -> int:
        """The estimate, in Kubernetes' steps."""
        return estimate_cost(self._tree, scope)

    def run(self, names: Mapping[str, Any], budget: Budget) -> Any:
        frame = Frame(dict(names), min(EXPRESSION_COST_MAX, budget.left))
        try:
            return self._run(frame)
        except CostExceeded:
            why = "operation cancelled: actual cost limit exceeded"
            if budget.left < EXPRESSION_COST_MAX:
                why = "validation failed due to running out of cost budget, no further validation rules will be run"
            raise EvaluationError(why) from None
        finally:
            budget.left = max(0, budget.left - frame.spent)


# The same text comes with every write of a policy and with every server that learns of it.
_parsed: BoundedDict[str, SyntaxNode] = BoundedDict(_PARSED_KEPT)


def compile_expression(
    text: str, scope: Mapping[str, StaticType], returns: frozenset[str], structs: frozenset[str] = frozenset()
) -> Program:
    """Raises ExpressionError with what is wrong and where. `returns`: the names of types that it may have."""
    tree = _parsed.get(text)
    if tree is None:
        tree = _parsed.keep(text, parse(text))
    found = TypeChecker(text, structs).type_of(tree, scope)
    if returns and found.name != "dyn" and found.name not in returns:
        raise ExpressionError(f"must evaluate to {' or '.join(sorted(returns))}, not to {found.name}")
    return Program(text, tree, found)
