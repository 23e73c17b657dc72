"""Which controllers an edit meets: those of the table of authority, and those that were seen to act against it.

an edited field has another value in the end       it was set back, by whoever wrote it last
what was deleted is there again, or its like is    it was made again
a row of the table names a controller              it is its rule to react; when it was seen, that is told
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core import codec
from fairlead.ledger.authority import AuthorityTable, Fight, ScalingBounds, autoscaler_of
from fairlead.model.views import NODES, PODS
from fairlead.sim.preview.difference import REACTS, REMAKES, REVERTS, FightTold
from fairlead.sim.preview.reading import ObjectsOfMoment, said_fields, singular
from fairlead.sim.preview.world import PERSON, PreviewCommit
from fairlead.store.contract import ADDED, DELETED, MODIFIED

Json = dict[str, Any]
_AUTOSCALERS = "horizontalpodautoscalers.autoscaling"
#: bound: plane | edits of one change whose controllers a forecast looks for | the rest is not told
EDITS_MAX = 200


def fights_of(
    commits: Sequence[PreviewCommit],
    before: ObjectsOfMoment,
    after: ObjectsOfMoment,
    since: float,
    table: AuthorityTable,
) -> tuple[FightTold, ...]:
    found: list[FightTold] = []
    autoscalers = [
        codec.decode(each.data) for key, each in before.entries.items() if key.resource == _AUTOSCALERS
    ]
    edits = [(place, each) for place, each in enumerate(commits) if each.by == PERSON][:EDITS_MAX]
    made = _made(commits) if any(_is_deletion(each) for _, each in edits) else {}
    for place, edit in edits:
        if edit.change.type == ADDED:
            continue
        if _is_deletion(edit):
            found += _deleted(edit, place, made, since, table)
        else:
            found += _changed(edit, commits[place + 1 :], after, since, table, autoscalers)
    return tuple(_gathered(found))


def _is_deletion(edit: PreviewCommit) -> bool:
    if edit.change.type == DELETED:
        return True
    before = edit.change.before
    key = b'"deletionTimestamp"'
    return key in edit.change.entry.data and before is not None and key not in before.data


def _made(commits: Sequence[PreviewCommit]) -> dict[object, list[tuple[int, PreviewCommit]]]:
    """What controllers created, with its place among the commits: by key, and by resource and controller."""
    found: dict[object, list[tuple[int, PreviewCommit]]] = {}
    for place, each in enumerate(commits):
        if each.change.type != ADDED or each.by == PERSON:
            continue
        entry = each.change.entry
        found.setdefault(entry.key, []).append((place, each))
        if owner := _controller_uid(codec.decode(entry.data)):
            found.setdefault((entry.key.resource, owner), []).append((place, each))
    return found


def _deleted(
    edit: PreviewCommit,
    place: int,
    made: dict[object, list[tuple[int, PreviewCommit]]],
    since: float,
    table: AuthorityTable,
) -> list[FightTold]:
    key, old = edit.change.entry.key, codec.decode(edit.change.entry.data)
    what = f"delete {singular(key.resource)}/{key.name}"
    owner = _controller_uid(old)
    like = [*made.get(key, ()), *(made.get((key.resource, owner), ()) if owner else ())]
    again = next((each for at, each in sorted(like, key=lambda one: one[0]) if at > place), None)
    told = [
        FightTold(
            what,
            row.controller,
            row.does,
            _when(again, row.controller, since),
            _remakes(again, row.controller),
        )
        for row in table.of_deletion(key.resource, old)
    ]
    if again is not None and all(each.controller != again.by for each in told):
        remade = again.change.entry.key
        does = f"makes {singular(remade.resource)}/{remade.name} in its place"
        told.append(FightTold(what, again.by, does, round(again.seconds - since, 3), REMAKES))
    return told


def _changed(
    edit: PreviewCommit,
    later: Sequence[PreviewCommit],
    after: ObjectsOfMoment,
    since: float,
    table: AuthorityTable,
    autoscalers: list[Json],
) -> list[FightTold]:
    key, entry, before = edit.change.entry.key, edit.change.entry, edit.change.before
    assert before is not None
    old, new = codec.decode(before.data), codec.decode(entry.data)
    fields = said_fields(before, entry)
    what = f"{singular(key.resource)}/{key.name}"
    scaled = [each for each in autoscalers if each["metadata"].get("namespace") == key.namespace]
    target: ScalingBounds | None = autoscaler_of(str(new.get("kind", "")), key.name, scaled)
    told: list[FightTold] = []
    ended = after.entries.get(key)
    last = codec.decode(ended.data) if ended is not None else None
    for field in fields:
        wanted = _value(new, field)
        if last is None or ended is entry or _value(last, field) == wanted:
            continue
        reverter = _who_changed(later, key, field, wanted)
        if reverter is not None:
            does = f"sets it to {_shown(_value(last, field))}, where you asked for {_shown(wanted)}"
            at = round(reverter.seconds - since, 3)
            told.append(FightTold(f"{what} {field}", reverter.by, does, at, REVERTS))
    for row in table.of_change(key.resource, old, new, fields, target):
        if any(each.controller == row.controller for each in told):
            continue
        told.append(
            FightTold(f"{what} {row.field}", row.controller, row.does, _reacted(row, edit, later, since))
        )
    return told


def _reacted(row: Fight, edit: PreviewCommit, later: Iterable[PreviewCommit], since: float) -> float | None:
    """When the controller was seen to do something to the object, or to pods on the node, after the edit."""
    key = edit.change.entry.key
    on_node = b'"nodeName":"%b"' % key.name.encode() if key.resource == NODES.name else b""
    for each in later:
        if each.by != row.controller or each.change.type not in (ADDED, MODIFIED):
            continue
        entry = each.change.entry
        placed = bool(on_node) and entry.key.resource == PODS.name and on_node in entry.data
        if entry.key == key or placed:
            return round(each.seconds - since, 3)
    return None


def _who_changed(
    later: Iterable[PreviewCommit], key: object, field: str, wanted: Any
) -> PreviewCommit | None:
    for each in later:
        ours = each.change.entry.key != key or each.by == PERSON
        if not ours and _value(codec.decode(each.change.entry.data), field) != wanted:
            return each
    return None


def _when(again: PreviewCommit | None, controller: str, since: float) -> float | None:
    return round(again.seconds - since, 3) if again is not None and again.by == controller else None


def _remakes(again: PreviewCommit | None, controller: str) -> str:
    return REMAKES if again is not None and again.by == controller else REACTS


def _controller_uid(obj: Json) -> str:
    for each in obj["metadata"].get("ownerReferences") or ():
        if each.get("controller"):
            return str(each["uid"])
    return ""


def _gathered(found: Iterable[FightTold]) -> list[FightTold]:
    """Of many edits that meet the same controller in the same way, the first is told, and how many there are."""
    groups: dict[tuple[str, str, str], list[FightTold]] = {}
    for each in found:
        kind = each.edit.partition("/")[0]
        groups.setdefault((kind, each.controller, each.does), []).append(each)
    told = []
    for each, *more in groups.values():
        edit = f"{each.edit} and {len(more)} more" if more else each.edit
        seen = [one.seconds for one in (each, *more) if one.seconds is not None]
        verdict = next((one.verdict for one in (each, *more) if one.verdict != REACTS), REACTS)
        told.append(FightTold(edit, each.controller, each.does, min(seen, default=None), verdict))
    return told


def _value(obj: Json | None, path: str) -> Any:
    """What stands at a path of `changed_fields`; None: nothing does."""
    found: Any = obj
    for part in _parts(path):
        if isinstance(found, dict):
            found = found.get(part)
        elif isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found


def _parts(path: str) -> list[str]:
    """`metadata.annotations["a.b/c"]` as metadata, annotations, a.b/c."""
    parts: list[str] = []
    for place, piece in enumerate(path.split('"')):
        if place % 2:
            parts.append(piece)
        else:
            parts += [each for each in piece.replace("[", ".").replace("]", "").split(".") if each]
    return parts


def _shown(value: Any) -> str:
    text = "nothing" if value is None else codec.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."
