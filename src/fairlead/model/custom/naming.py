"""The status of a definition: which of its names are accepted, and whether it is established. As Kubernetes decides it.

Called by `api/admission/definitions.py`, so that the status commits with the write it follows from. Names are taken by
whoever had them first; one that loses them (another definition goes) takes up what it wished for at its next write,
which `reconcile/custom_definition.py` makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.model.custom.definition import ESTABLISHED, NAMES_ACCEPTED, condition, storage_version
from fairlead.model.kind import Json, Kind

Taken = tuple[set[str], set[str]]  # names of resources, and of kinds


def taken_by(kinds: Iterable[Kind], definitions: Iterable[Json], group: str, own: str) -> Taken:
    """What others of the group have: built-in kinds, and the accepted names of other definitions."""
    resources, names = set[str](), set[str]()
    for kind in kinds:
        if kind.group == group:
            resources.update((kind.plural, kind.singular_name, *kind.short_names))
            names.update((kind.kind, kind.list_kind))
    for each in definitions:
        if each["spec"].get("group") != group or each["metadata"].get("name") == own:
            continue
        accepted = (each.get("status") or {}).get("acceptedNames") or {}
        resources.update((accepted.get("plural") or "", accepted.get("singular") or ""))
        resources.update(accepted.get("shortNames") or ())
        names.update((accepted.get("kind") or "", accepted.get("listKind") or ""))
    resources.discard("")
    names.discard("")
    return resources, names


def settled_status(definition: Json, taken: Taken, now: float) -> Json:
    """The status that follows from the spec, the names that others have, and the status so far."""
    wished: Json = definition["spec"]["names"]
    before: Json = definition.get("status") or {}
    accepted: Json = before.get("acceptedNames") or {}
    names, trouble = _accept(wished, accepted, taken)
    conditions = [dict(each) for each in before.get("conditions") or ()]
    if trouble is None:
        _put(conditions, NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found", now)
    else:
        _put(conditions, NAMES_ACCEPTED, "False", *trouble, now)
    if not _is(conditions, ESTABLISHED):
        if trouble is None:
            text = "the initial names have been accepted"
            _put(conditions, ESTABLISHED, "True", "InitialNamesAccepted", text, now)
        else:
            _put(conditions, ESTABLISHED, "False", "NotAccepted", "not all names are accepted", now)
    stored = list(before.get("storedVersions") or ())
    storage = storage_version(definition)
    if storage and storage not in stored:
        stored.append(storage)
    return {**before, "acceptedNames": names, "conditions": conditions, "storedVersions": stored}


def _accept(wished: Json, accepted: Json, taken: Taken) -> tuple[Json, tuple[str, str] | None]:
    resources, kinds = taken
    names: Json = codec.clone(accepted)
    trouble: tuple[str, str] | None = None
    for field, used, reason in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        wish: Any = wished.get(field)
        mine = accepted.get(field)
        each = wish if isinstance(wish, list) else [wish] if wish else []
        had = mine if isinstance(mine, list) else [mine]
        lost = [name for name in each if name not in had and name in used]
        if lost:
            said = [f'"{name}" is already in use' for name in lost]
            trouble = reason, said[0] if len(said) == 1 else f"[{', '.join(said)}]"
        elif each:
            names[field] = wish
        else:
            names.pop(field, None)
    if wished.get("categories"):
        names["categories"] = wished["categories"]
    else:
        names.pop("categories", None)
    return names, trouble


def _is(conditions: list[Json], name: str) -> bool:
    return any(each.get("type") == name and each.get("status") == "True" for each in conditions)


def _put(conditions: list[Json], name: str, status: str, reason: str, message: str, now: float) -> None:
    found = condition({"status": {"conditions": conditions}}, name)
    if found is None:
        found = {"type": name}
        conditions.append(found)
    if found.get("status") != status:
        found["lastTransitionTime"] = timestamp(now)
    found.update(status=status, reason=reason, message=message)


def put_condition(definition: Json, name: str, status: str, reason: str, message: str, now: float) -> None:
    """Say one thing in the status of a definition."""
    _put(definition.setdefault("status", {}).setdefault("conditions", []), name, status, reason, message, now)
