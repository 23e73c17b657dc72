"""Reads the state of a live plane at one revision, to look ahead from it; keeps it in a file, and reads such a file.

Every kind that the server lists is read as it was at the revision of the first answer, so that no object is older or
newer than another. What the reader may not see (403) is left out, and told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fairlead.cli.client import ApiClient
from fairlead.cli.resources import ApiResource, listed_resources
from fairlead.core.errors import ApiError, UsageError
from fairlead.sim.preview.state import LEFT_OUT, LiveState, live_state

_ATTEMPTS = 3  # history may be compacted while it is read
_FORM = "fairlead-state/1"


class _Head(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _List(msgspec.Struct):
    metadata: _Head
    items: list[msgspec.Raw] = []


class _FileHead(msgspec.Struct):
    form: str
    revision: int
    now: float


class _Line(msgspec.Struct):
    resource: str
    object: msgspec.Raw


_LISTS = msgspec.json.Decoder(_List)
_LINES = msgspec.json.Decoder(_Line)


@dataclass(frozen=True, slots=True)
class ReadState:
    state: LiveState
    unseen: tuple[str, ...]  # kinds that the reader may not list


def read_live(client: ApiClient) -> ReadState:
    resources = [each for each in listed_resources(client) if group_resource(each) not in LEFT_OUT]
    for attempt in range(_ATTEMPTS):
        found = _read(client, resources)
        if found is not None:
            return found
        time.sleep(0.1 * (attempt + 1))
    raise ApiError(
        "the state could not be read at one revision: its history is compacted too fast; try again"
    )


def _read(client: ApiClient, resources: list[ApiResource]) -> ReadState | None:
    """None: the revision is compacted by now."""
    revision, unseen = "", []
    objects: list[tuple[str, bytes]] = []
    for resource in resources:
        at = {"resourceVersion": revision, "resourceVersionMatch": "Exact"} if revision else {}
        status, body = client.raw(resource.path(""), at)
        if status == 410:
            return None
        if status in (403, 404, 405):
            unseen.append(resource.plural)
            continue
        if status >= 400:
            raise ApiError(f"{resource.plural} cannot be listed: the server answered {status}")
        answer = _LISTS.decode(body)
        revision = revision or answer.metadata.resource_version
        objects += [(group_resource(resource), bytes(each)) for each in answer.items]
    return ReadState(live_state(objects, time.time(), int(revision or 0)), tuple(unseen))


def group_resource(resource: ApiResource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def save(state: LiveState, path: Path) -> None:
    """A line that says what it is, then one for each object."""
    head = _FileHead(_FORM, state.revision, state.now)
    lines = [msgspec.json.encode(head)]
    lines += [msgspec.json.encode(_Line(key.resource, msgspec.Raw(data))) for key, data in state.objects]
    try:
        path.write_bytes(b"\n".join(lines) + b"\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from error


def load(path: Path) -> LiveState:
    try:
        lines = path.read_bytes().splitlines()
        head = msgspec.json.decode(lines[0] if lines else b"", type=_FileHead)
        if head.form != _FORM:
            raise UsageError(
                f"{path} has another form ({head.form}): write it with `fairlead sim from --save`"
            )
        return live_state(_objects(lines[1:]), head.now, head.revision)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path} is no saved state ({error}): write one with `fairlead sim from --save`"
        ) from error


def _objects(lines: list[bytes]) -> Iterator[tuple[str, bytes]]:
    for line in lines:
        found = _LINES.decode(line)
        yield found.resource, bytes(found.object)
