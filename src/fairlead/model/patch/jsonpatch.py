"""JSON patch (RFC 6902): a list of operations, applied in order, all or none.

Called by `api/` for application/json-patch+json. Operations are judged first, bounded (number, nesting, bytes
copied, so that a few `copy`s cannot double an object into gigabytes), and applied to a private copy. Every failure
names the operation's index, its path and a way out, and never quotes the document, which may be a Secret.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fairlead.core.codec import DEPTH_MAX, clone, depth, encode
from fairlead.core.errors import BadRequest, Cause, Invalid, TooLarge
from fairlead.core.problems import show
from fairlead.model.kind import Json

#: bound: requests | operations of one JSON patch | 413
OPERATIONS_MAX = 10_000
#: bound: requests | bytes one JSON patch may copy | 413
COPIED_BYTES_MAX = 3 * 1024 * 1024

_NEEDS = {
    "add": ("path", "value"),
    "replace": ("path", "value"),
    "test": ("path", "value"),
    "remove": ("path",),
    "move": ("path", "from"),
    "copy": ("path", "from"),
}
_MISSING = object()
_MISWRITTEN = re.compile("~(?![01])")
_INDEX = re.compile("0|[1-9][0-9]{0,8}")


class _NoPlaceError(Exception):
    """The last part of a path leads nowhere."""


def json_patch(current: Json, operations: list[Any]) -> Json:
    """`current` with all operations applied, as a new tree."""
    if len(operations) > OPERATIONS_MAX:
        raise TooLarge(
            f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
        )
    for index, operation in enumerate(operations):
        _check_form(index, operation)
    document: Any = clone(current)
    copied = 0
    for index, operation in enumerate(operations):
        copied += _check_growth(index, operation, document, copied)
        document = _apply(index, operation, document)
    if type(document) is not dict:
        raise Invalid(f"the JSON patch leaves {show(document)} where an object is expected")
    return document


def _check_form(index: int, operation: Any) -> None:
    """Refuses what is no operation at all, before anything is applied."""
    at = f"JSON patch operation {index}"
    if not isinstance(operation, dict):
        raise BadRequest(f'{at}: must be an object such as {{"op": "remove", "path": "/spec/x"}}')
    name = operation.get("op")
    needs = _NEEDS.get(name) if isinstance(name, str) else None
    if needs is None:
        raise BadRequest(f"{at}: op {show(name)} is not supported: use one of {', '.join(sorted(_NEEDS))}")
    for member in needs:
        if member not in operation:
            raise BadRequest(f"{at} ({name}): {member!r} is missing")
        if member != "value":
            _check_pointer(f"{at} ({name})", member, operation[member])


def _check_pointer(at: str, member: str, pointer: Any) -> None:
    if not isinstance(pointer, str):
        raise BadRequest(f"{at}: {member!r} must be a string, got {show(pointer)}")
    if (pointer and pointer[0] != "/") or _MISWRITTEN.search(pointer):
        raise BadRequest(
            f"{at}: {member!r} is {show(pointer)}, which is no JSON pointer: it starts with '/', "
            "and inside a key '~' is written ~0 and '/' is written ~1"
        )


def _check_growth(index: int, operation: Json, document: Any, copied: int) -> int:
    """Bounds nesting and copying; returns the bytes that this operation copies.

    Moving something deeper counts as copying it, since its nesting must be measured.
    """
    name = operation["op"]
    if name in ("remove", "test"):
        return 0
    down = operation["path"].count("/")
    if name in ("add", "replace"):
        _check_depth(index, operation, down + depth(operation["value"]))
        return 0
    source = operation["from"]
    incoming = _found(document, _parts(source))
    if incoming is _MISSING:
        raise _unfit(index, operation, f"nothing is at {show(source)} to {name}")
    if name == "move" and down <= source.count("/"):
        return 0
    size = len(encode(incoming))
    if copied + size > COPIED_BYTES_MAX:
        raise TooLarge(
            f"JSON patch operation {index} ({name}): a patch may copy {COPIED_BYTES_MAX} bytes in all"
        )
    _check_depth(index, operation, down + depth(incoming))
    return size


def _check_depth(index: int, operation: Json, levels: int) -> None:
    if levels > DEPTH_MAX:
        raise _unfit(index, operation, f"the object would be nested deeper than {DEPTH_MAX} levels")


def _apply(index: int, operation: Json, document: Any) -> Any:
    name, parts = operation["op"], _parts(operation["path"])
    if name == "test":
        if not _equal(_found(document, parts), operation["value"]):
            why = "the value there is not the one tested for: read the object again and decide anew"
            raise _unfit(index, operation, why)
        return document
    try:
        if name == "remove":
            return _removed(document, parts)
        if name == "move":
            return _moved(document, operation, parts)
        value = _found(document, _parts(operation["from"])) if name == "copy" else operation["value"]
        return _placed(document, parts, clone(value), only_if_there=name == "replace")
    except _NoPlaceError:
        raise _unfit(index, operation, _reason(operation, document)) from None


def _moved(document: Any, operation: Json, parts: Sequence[str]) -> Any:
    source = _parts(operation["from"])
    if source == parts:
        return document
    if source == parts[: len(source)]:
        raise _NoPlaceError
    value = _found(document, source)
    return _placed(_removed(document, source), parts, value, only_if_there=False)


def _removed(document: Any, parts: Sequence[str]) -> Any:
    if not parts:
        raise _NoPlaceError
    place, last = _found(document, parts[:-1]), parts[-1]
    if type(place) is dict and last in place:
        del place[last]
    elif type(place) is list and _item(place, last) is not _MISSING:
        del place[int(last)]
    else:
        raise _NoPlaceError
    return document


def _placed(document: Any, parts: Sequence[str], value: Any, *, only_if_there: bool) -> Any:
    if not parts:
        return value
    place, last = _found(document, parts[:-1]), parts[-1]
    if type(place) is dict and (not only_if_there or last in place):
        place[last] = value
    elif type(place) is list and only_if_there and _item(place, last) is not _MISSING:
        place[int(last)] = value
    elif type(place) is list and not only_if_there and last == "-":
        place.append(value)
    elif type(place) is list and not only_if_there and _INDEX.fullmatch(last) and int(last) <= len(place):
        place.insert(int(last), value)
    else:
        raise _NoPlaceError
    return document


def _equal(found: Any, tested: Any) -> bool:
    """As JSON has it: true is not 1, but 1 is 1.0."""
    if type(found) is dict and type(tested) is dict:
        return found.keys() == tested.keys() and all(_equal(found[key], tested[key]) for key in found)
    if type(found) is list and type(tested) is list:
        return len(found) == len(tested) and all(map(_equal, found, tested))
    return isinstance(found, bool) is isinstance(tested, bool) and bool(found == tested)


def _unfit(index: int, operation: Json, why: str) -> Invalid:
    message = f"JSON patch operation {index} ({operation['op']} {show(operation['path'])}): {why}"
    return Invalid(message, causes=(Cause("FieldValueInvalid", why, operation["path"]),))


def _reason(operation: Json, document: Any) -> str:
    """Why an operation found no place: walks its path as far as it goes."""
    parts = _parts(operation["path"])
    if not parts:
        return "the whole object can't be removed by a patch: delete it instead"
    if operation["op"] == "move" and operation["path"].startswith(operation["from"] + "/"):
        return f"{show(operation['from'])} can't be moved into itself"
    here, walked = document, ""
    for part in parts[:-1]:
        step = here.get(part, _MISSING) if type(here) is dict else _item(here, part)
        if step is _MISSING:
            return f"{show(walked + '/' + _escaped(part))} does not exist: add it first"
        here, walked = step, f"{walked}/{_escaped(part)}"
    if type(here) is dict:
        return "the path does not exist: use add to create it"
    if type(here) is list:
        return f"the list has {len(here)} items: use an index below that, or add with '-' to append"
    return f"{show(walked)} is neither an object nor a list, so it has nothing inside"


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _found(document: Any, parts: Sequence[str]) -> Any:
    for part in parts:
        document = document.get(part, _MISSING) if type(document) is dict else _item(document, part)
    return document


def _item(here: Any, part: str) -> Any:
    if type(here) is list and _INDEX.fullmatch(part) and int(part) < len(here):
        return here[int(part)]
    return _MISSING


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
