"""JSON patch (RFC 6902): a list of operations, applied in order, all or none.

Called by `api/` for application/json-patch+json. The `jsonpatch` library applies each operation to a private
copy; this module judges the operations first, bounds them (number, nesting, bytes copied, so that a few
`copy`s cannot double an object into gigabytes), and words every failure with the operation's index, its path
and a way out. The library's own messages quote the document, which may be a Secret, and never leave here.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer

from fairlead.core.codec import DEPTH_MAX, clone, depth, encode
from fairlead.core.errors import BadRequest, Cause, Invalid, TooLarge
from fairlead.core.problems import shown
from fairlead.model.kind import Json

OPERATIONS_MAX = 10_000
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
        raise Invalid(f"the JSON patch leaves {shown(document)} where an object is expected")
    return document


def _check_form(index: int, operation: Any) -> None:
    """Refuses what is no operation at all, before anything is applied."""
    at = f"JSON patch operation {index}"
    if not isinstance(operation, dict):
        raise BadRequest(f'{at}: must be an object such as {{"op": "remove", "path": "/spec/x"}}')
    name = operation.get("op")
    needs = _NEEDS.get(name) if isinstance(name, str) else None
    if needs is None:
        raise BadRequest(f"{at}: op {shown(name)} is not supported: use one of {', '.join(sorted(_NEEDS))}")
    for member in needs:
        if member not in operation:
            raise BadRequest(f"{at} ({name}): {member!r} is missing")
        if member != "value":
            _check_pointer(f"{at} ({name})", member, operation[member])


def _check_pointer(at: str, member: str, pointer: Any) -> None:
    if not isinstance(pointer, str):
        raise BadRequest(f"{at}: {member!r} must be a string, got {shown(pointer)}")
    try:
        jsonpointer.JsonPointer(pointer)
    except jsonpointer.JsonPointerException:
        raise BadRequest(
            f"{at}: {member!r} is {shown(pointer)}, which is no JSON pointer: it starts with '/', "
            "and inside a key '~' is written ~0 and '/' is written ~1"
        ) from None


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
    incoming = jsonpointer.JsonPointer(source).resolve(document, _MISSING)
    if incoming is _MISSING or isinstance(incoming, jsonpointer.EndOfList):
        raise _unfit(index, operation, f"nothing is at {shown(source)} to {name}")
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
    try:
        return jsonpatch.JsonPatch.operations[operation["op"]](operation).apply(document)
    except jsonpatch.JsonPatchTestFailed:
        why = "the value there is not the one tested for: read the object again and decide anew"
        raise _unfit(index, operation, why) from None
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException):
        raise _unfit(index, operation, _reason(operation, document)) from None


def _unfit(index: int, operation: Json, why: str) -> Invalid:
    message = f"JSON patch operation {index} ({operation['op']} {shown(operation['path'])}): {why}"
    return Invalid(message, causes=(Cause("FieldValueInvalid", why, operation["path"]),))


def _reason(operation: Json, document: Any) -> str:
    """Why an operation found no place: walks its path as far as it goes."""
    parts = jsonpointer.JsonPointer(operation["path"]).parts
    if not parts:
        return "the whole object can't be removed by a patch: delete it instead"
    if operation["op"] == "move" and operation["path"].startswith(operation["from"] + "/"):
        return f"{shown(operation['from'])} can't be moved into itself"
    here, walked = document, ""
    for part in parts[:-1]:
        step = here.get(part, _MISSING) if type(here) is dict else _item(here, part)
        if step is _MISSING:
            return f"{shown(walked + '/' + _escaped(part))} does not exist: add it first"
        here, walked = step, f"{walked}/{_escaped(part)}"
    if type(here) is dict:
        return "the path does not exist: use add to create it"
    if type(here) is list:
        return f"the list has {len(here)} items: use an index below that, or add with '-' to append"
    return f"{shown(walked)} is neither an object nor a list, so it has nothing inside"


def _item(here: Any, part: str) -> Any:
    if type(here) is list and part.isdecimal() and len(part) < 10 and int(part) < len(here):
        return here[int(part)]
    return _MISSING


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
