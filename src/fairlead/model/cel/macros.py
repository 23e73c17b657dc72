"""Calls that are more than calls: their arguments are names and trees, not values. Called by `parser.py`."""

from __future__ import annotations

from fairlead.model.cel import syntax
from fairlead.model.cel.errors import ExpressionError
from fairlead.model.cel.syntax import SyntaxNode

# With how many arguments each macro is one, and whether the one before the last is a filter.
_LOOPS: dict[tuple[str, int], tuple[str, int, bool]] = {
    ("all", 2): ("all", 1, False),
    ("exists", 2): ("exists", 1, False),
    ("exists_one", 2): ("existsOne", 1, False),
    ("existsOne", 2): ("existsOne", 1, False),
    ("filter", 2): ("filter", 1, False),
    ("map", 2): ("map", 1, False),
    ("map", 3): ("map", 1, True),
    ("all", 3): ("all", 2, False),
    ("exists", 3): ("exists", 2, False),
    ("exists_one", 3): ("existsOne", 2, False),
    ("existsOne", 3): ("existsOne", 2, False),
    ("transformList", 3): ("map", 2, False),
    ("transformList", 4): ("map", 2, True),
    ("transformMap", 3): ("transformMap", 2, False),
    ("transformMap", 4): ("transformMap", 2, True),
    ("transformMapEntry", 3): ("transformMapEntry", 2, False),
    ("transformMapEntry", 4): ("transformMapEntry", 2, True),
}
_OF_OPTIONALS = {"optMap": False, "optFlatMap": True}


def expand(
    text: str, offset: int, name: str, target: SyntaxNode | None, arguments: tuple[SyntaxNode, ...]
) -> SyntaxNode:
    """The tree of a call: of a macro where it is one."""
    count = len(arguments)
    if target is None:
        if name == "has" and count == 1:
            field = arguments[0]
            if not isinstance(field, syntax.Select) or field.optional:
                raise ExpressionError(
                    "invalid argument to has() macro: name a field, as in has(a.b)", text, offset
                )
            return syntax.Has(offset, field.operand, field.field)
        return syntax.FunctionCall(offset, name, None, arguments)
    loop = _LOOPS.get((name, count))
    if loop is not None:
        macro, variables, filtered = loop
        names = tuple(_variable(text, each) for each in arguments[:variables])
        if len(set(names)) != len(names):
            raise ExpressionError(f"the variables of {name} must differ", text, offset)
        return syntax.Loop(offset, macro, target, names, arguments[-2] if filtered else None, arguments[-1])
    if name in _OF_OPTIONALS and count == 2:
        bound = _variable(text, arguments[0])
        return syntax.OptionalMap(offset, target, bound, arguments[1], _OF_OPTIONALS[name])
    if name == "bind" and count == 3 and isinstance(target, syntax.Ident) and target.name == "cel":
        return syntax.LocalName(offset, _variable(text, arguments[0]), arguments[1], arguments[2])
    return syntax.FunctionCall(offset, name, target, arguments)


def _variable(text: str, node: SyntaxNode) -> str:
    if isinstance(node, syntax.Ident):
        return node.name
    raise ExpressionError("argument must be a simple name", text, node.offset)
