"""Whether rules of a definition (`x-kubernetes-validations`) may become too dear: refused when it is written.

Kubernetes' own bounds, and its words: what one rule may cost at most, times how often it is asked, and all of a schema
together. The estimate is in `model/cel/estimate.py`; how large values may be says the schema: `maxLength`, `maxItems`,
`maxProperties`. A value without a bound may be as large as a request. Schemas that are stored are left as they are:
called by `model/kinds/customresourcedefinition.py` for those that change.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.core.problems import Problems
from fairlead.model.cel.static import UNKNOWN_SIZE
from fairlead.model.custom.rules import SchemaStatic, scope_of
from fairlead.model.custom.schema import SchemaNode, compile_schema
from fairlead.model.kind import Json

#: bound: objects | estimated cost of one rule in CEL of a custom kind, in Kubernetes' steps | 422
RULE_COST_MAX = 10_000_000
#: bound: objects | estimated cost of all rules in CEL of one schema | 422
SCHEMA_COST_MAX = 100_000_000
_NAMED = 4  # how many of the dearest rules are named when all together are too dear
_FAR = 100
_FIX = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
_REQUEST_BYTES = UNKNOWN_SIZE + 2


class _Cost(NamedTuple):
    path: str
    cost: int


def check_costs(schema: Json, path: str, problems: Problems) -> None:
    """`schema`: of one version, sound and with rules that can be compiled."""
    node = compile_schema(schema)
    found: list[_Cost] = []
    _gather(node, path, 1, found)
    for each in found:
        if each.cost > RULE_COST_MAX:
            what = "rule" if each.path.endswith("rule") else "messageExpression"
            problems.forbidden(each.path, _too_dear(f"estimated {what} cost", each.cost, RULE_COST_MAX))
    total = sum(each.cost for each in found)
    if total <= SCHEMA_COST_MAX:
        return
    for each in sorted(found, key=lambda each: -each.cost)[:_NAMED]:
        problems.forbidden(
            each.path,
            "contributed to estimated rule & messageExpression cost total exceeding cost limit for entire OpenAPIv3 "
            "schema",
        )
    all_of_them = (
        "x-kubernetes-validations estimated rule & messageExpression cost total for entire OpenAPIv3 schema"
    )
    problems.forbidden(path, _too_dear(all_of_them, total, SCHEMA_COST_MAX))


def _too_dear(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > _FAR:
        return f"{what} exceeds budget by factor of more than {_FAR}x {_FIX}"
    return (
        f"{what} exceeds budget by factor of {factor:.1f}x {_FIX}"
        if factor >= 1.05
        else f"{what} exceeds budget {_FIX}"
    )


def _gather(node: SchemaNode, path: str, times: int | None, found: list[_Cost]) -> None:
    """`times`: how often a value of this schema may stand in an object; None: as often as a request has room for it."""
    if not node.rules_below:
        return
    static = SchemaStatic(node)
    asked = times if times is not None else _REQUEST_BYTES // (static.bytes_min + 1)
    for index, rule in enumerate(node.rules):
        at = f"{path}.x-kubernetes-validations[{index}]"
        scope = scope_of(node, rule.optional_old)
        for name, program in (("rule", rule.program), ("messageExpression", rule.message_program)):
            if program is not None:
                found.append(_Cost(f"{at}.{name}", program.cost_max(scope) * asked))
    for name, below in node.properties.items():
        _gather(below, f"{path}.properties[{name}]", times, found)
    if node.values is not None:
        _gather(node.values, f"{path}.additionalProperties", _times(times, node.max_properties), found)
    if node.items is not None:
        _gather(node.items, f"{path}.items", _times(times, node.max_items), found)


def _times(times: int | None, most: int | None) -> int | None:
    return times * most if times is not None and most is not None else None
