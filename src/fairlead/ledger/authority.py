"""Whose field it is: which controller will undo an edit made by hand, or make more of it, and what it will do.

A table of rows (`control/authority.py` fills it for the controllers that there are) and one pure function that finds
the rows an edit meets. Asked by admission, which warns whoever writes (`api/admission/fights.py`), and by
`fairlead forecast`, which also runs the plane ahead to see it happen. Nothing is refused for it: people may fight, but
they should know whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]

CHANGE, DELETE, UNFINALIZE = "change", "delete", "unfinalize"
ALWAYS, OWNED, SCALED = "", "owned", "scaled"

#: bound: requests | controllers that one write is warned about | the rest is not told
FIGHTS_MAX = 8


class AuthorityRow(NamedTuple):
    """An edit of `field` (a path, or what lies below it) of `resource`, or its deletion, meets this controller.

    `when`: OWNED if an owner of the kind `owner` controls the object, SCALED if an autoscaler has it as its target.
    `value`: of what is taken from a list of names or a map (a finalizer, a label), the beginning that it must have.
    """

    verb: str
    resource: str  # "": of any
    field: str
    controller: str
    does: str  # with {owner}, {field} and {target}
    when: str = ALWAYS
    owner: str = ""
    value: str = ""
    reads: bool = False  # it goes by the field and takes nothing back: told by a forecast, not warned of


class Fight(NamedTuple):
    """A controller that an edit meets."""

    controller: str
    field: str
    does: str
    verb: str = CHANGE
    reads: bool = False


class ScalingBounds(NamedTuple):
    name: str
    least: int
    most: int


class AuthorityTable:
    """Rows by what they are about; looking one up costs a few dictionary reads."""

    __slots__ = ("_rows", "rows")

    def __init__(self, rows: Iterable[AuthorityRow]) -> None:
        self.rows = tuple(rows)
        self._rows: dict[tuple[str, str], list[AuthorityRow]] = {}
        for row in self.rows:
            self._rows.setdefault((row.verb, row.resource), []).append(row)

    def rows_of(self, verb: str, resource: str) -> Sequence[AuthorityRow]:
        return (*self._rows.get((verb, resource), ()), *self._rows.get((verb, ""), ()))

    def concerns(self, resource: str) -> bool:
        """Whether any change of such an object can meet somebody: of most kinds none does but by its finalizers."""
        return bool(self.rows_of(CHANGE, resource) or self.rows_of(UNFINALIZE, resource))

    def scales(self, resource: str, fields: Iterable[str]) -> bool:
        """Whether it matters who scales the object: a look at autoscalers is needed only then."""
        touched = [row for row in self.rows_of(CHANGE, resource) if row.when == SCALED]
        return any(touches(field, row.field) for row in touched for field in fields)

    def of_deletion(self, resource: str, old: Json) -> list[Fight]:
        """Whom the deletion of an object meets."""
        return self._met(self.rows_of(DELETE, resource), "", old, None)

    def of_change(
        self,
        resource: str,
        old: Json,
        new: Json,
        fields: Sequence[str],
        autoscaler: ScalingBounds | None = None,
    ) -> list[Fight]:
        """`fields`: those that differ, by their paths."""
        found: list[Fight] = []
        rows = self.rows_of(CHANGE, resource)
        for field in fields:
            for row in rows:
                if touches(field, row.field) and (not row.value or _named(field).startswith(row.value)):
                    found += self._met((row,), field, old, autoscaler)
        gone = _finalizers(old) - _finalizers(new)
        for name in sorted(gone):
            for row in self.rows_of(UNFINALIZE, resource):
                if name.startswith(row.value):
                    found += self._met((row,), f"finalizer {name}", old, autoscaler)
        return list(dict.fromkeys(found))[:FIGHTS_MAX]

    def _met(
        self, rows: Iterable[AuthorityRow], field: str, old: Json, autoscaler: ScalingBounds | None
    ) -> list[Fight]:
        found = []
        owner = _controller(old)
        for row in rows:
            if row.when == OWNED and (owner is None or (row.owner and owner.get("kind") != row.owner)):
                continue
            if row.when == SCALED and autoscaler is None:
                continue
            whose = f"{str(owner['kind']).lower()}/{owner['name']}" if owner is not None else ""
            target = (
                f"{autoscaler.name} ({autoscaler.least} to {autoscaler.most})"
                if autoscaler is not None
                else ""
            )
            told = row.does.replace("{owner}", whose).replace("{field}", field).replace("{target}", target)
            found.append(Fight(row.controller, field, told, row.verb, row.reads))
        return found


def autoscaler_of(kind: str, name: str, autoscalers: Iterable[Json]) -> ScalingBounds | None:
    """The first HorizontalPodAutoscaler that has this object as its target."""
    for each in autoscalers:
        spec: Mapping[str, Any] = each.get("spec") or {}
        target = spec.get("scaleTargetRef") or {}
        if target.get("kind") == kind and target.get("name") == name:
            return ScalingBounds(
                each["metadata"]["name"], spec.get("minReplicas") or 1, spec.get("maxReplicas") or 0
            )
    return None


def touches(field: str, row: str) -> bool:
    """The path itself, what lies below it, or what it lies below."""
    return field == row or field.startswith((f"{row}.", f"{row}[")) or row.startswith(f"{field}.")


def _named(field: str) -> str:
    """What stands between the last quotation marks: the key of a map."""
    parts = field.split('"')
    return parts[-2] if len(parts) >= 3 else field.rpartition(".")[2]


def _finalizers(obj: Json) -> set[str]:
    return set((obj.get("metadata") or {}).get("finalizers") or ())


def _controller(obj: Json) -> Json | None:
    for each in (obj.get("metadata") or {}).get("ownerReferences") or ():
        if each.get("controller"):
            found: Json = each
            return found
    return None
