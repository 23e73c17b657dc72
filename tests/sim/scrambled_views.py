"""Views in which everything is another but what a controller is known to read: what it decides must be the same.

    scrambler = Scrambler(footprint.reads)
    decide(scrambler.view(view), key, now) == decide(view, key, now)

Fields that the footprint does not have get another value of their type, and resources that it does not have are empty.
Names, uids and versions stay: they are what effects are bound to. Used by `declared_reads.py` beside the real
decision, so that a read that no note shows, such as the encoding of a whole status, is found as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from fairlead.decision.contract import Decision, Reading, Silent
from fairlead.decision.effects import Change, Effect
from fairlead.decision.footprint import ANY, HEARD, IDENTITY
from fairlead.model.views import PODS, Condition, Resource, Stored, View

_MARK = "fairlead.dev/scrambled"
_OTHER_STATUS = {"True": "False", "False": "True"}
_PLAYED = ("hollow.fairlead.dev/", "metrics.fairlead.dev/")  # what worlds play with
_MANY = frozenset({"list", "owned", "select"})


def covers(declared: str, field: str) -> bool:
    """Whether what is declared is this field, or all that it is an entry of."""
    return declared in (field, ANY) or (field.startswith(declared) and field[len(declared)] in ".[")


class Scrambler:
    """`reads`: fields by resource."""

    def __init__(self, reads: Mapping[str, frozenset[str]]) -> None:
        self._reads = reads

    def view(self, inner: Reading) -> Reading:
        scrambled: Any = _ScrambledView(inner, self)
        return scrambled  # type: ignore[no-any-return]

    def knows(self, resource: str) -> bool:
        return resource in self._reads or ANY in self._reads

    def knows_field(self, resource: str, field: str) -> bool:
        declared = (*self._reads.get(resource, ()), *self._reads.get(ANY, ()))
        return any(covers(each, field) for each in declared)

    def scrambled(self, resource: str, view: Any) -> Any:
        if view is None or isinstance(view, Stored) or not isinstance(view, View):
            return view  # of an object of any kind only metadata is read, from its bytes
        return self._copy(resource, "", view)

    def judged(self, decision: Decision) -> Decision:
        """Without conditions of others that are passed on as they are: a list is written whole, by who changes one."""
        return structs.replace(decision, effects=tuple(map(self._own, decision.effects)))

    def _own(self, effect: Effect) -> Effect:
        status = effect.patch.get("status") if isinstance(effect, Change) else None
        if not isinstance(effect, Change) or not isinstance(status, dict) or "conditions" not in status:
            return effect
        known = [
            each
            for each in status["conditions"] or ()
            if self.knows_field(effect.resource, f"status.conditions[{each.get('type')}]")
        ]
        return structs.replace(effect, patch={**effect.patch, "status": {**status, "conditions": known}})

    def _copy(self, resource: str, path: str, view: View) -> View:
        changed: dict[str, Any] = {}
        for field in structs.fields(view):
            where = f"{path}.{field.encode_name}" if path else field.encode_name
            value = getattr(view, field.name)
            if isinstance(value, View) and not path:
                changed[field.name] = self._copy(resource, where, value)
            elif where == "metadata.annotations":
                changed[field.name] = {
                    key: text
                    if key.startswith(_PLAYED) or self.knows_field(resource, f"{where}[{key}]")
                    else f"{text}~"
                    for key, text in value.items()
                }
            elif where == "status.conditions":
                changed[field.name] = tuple(self._condition(resource, each) for each in value)
            elif where not in IDENTITY and not self.knows_field(resource, where):
                changed[field.name] = _another(value)
        return structs.replace(view, **changed)

    def _condition(self, resource: str, condition: Any) -> Any:
        if not isinstance(condition, Condition):
            return condition
        if self.knows_field(resource, f"status.conditions[{condition.type}]"):
            return condition
        other = _OTHER_STATUS.get(condition.status, "True")
        return structs.replace(condition, status=other, reason=f"{condition.reason}~")


class _ScrambledView:
    def __init__(self, inner: Reading, scrambler: Scrambler) -> None:
        self._inner, self._scrambler = inner, scrambler

    def on_node(self, node: str) -> Any:
        return self._many(PODS.name, self._inner.on_node(node))

    def silent(self, resource: Resource[Any], *given: Any) -> Any:
        if not self._scrambler.knows_field(resource.name, HEARD):
            return Silent({}, 0.0)
        return self._inner.silent(resource, *given)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "get":
            return lambda resource, *given: self._one(resource.name, found(resource, *given))
        if name in _MANY:
            return lambda resource, *given: self._many(resource.name, found(resource, *given))
        return found

    def _one(self, resource: str, view: Any) -> Any:
        scrambler = self._scrambler
        return scrambler.scrambled(resource, view) if scrambler.knows(resource) else None

    def _many(self, resource: str, views: Any) -> Any:
        if not self._scrambler.knows(resource):
            return ()
        return tuple([self._scrambler.scrambled(resource, each) for each in views])


def _another(value: Any) -> Any:
    """Another value of the same type, where one can be made."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}~"
        case dict():
            return {**value, _MARK: "1"}
        case tuple():
            return value[:-1]
        case _:
            return value
