"""Kubernetes' Status objects: of errors, and of successes that have no object to show.

Called by the verbs and subresources, and by `wire/` for whatever was raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fairlead.core.errors import ApiError, Invalid
from fairlead.core.problems import Problems
from fairlead.model.kind import Kind
from fairlead.port.request import Reply

_encode = msgspec.json.encode


def _line(body: dict[str, Any]) -> bytes:
    """A Status ends with a newline, as Kubernetes' does: people see it on their terminal."""
    return _encode(body) + b"\n"


_ACCEPTED = _line({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
# Messages quote what clients sent: no answer is to be larger than what is useful to read.
_MESSAGE_MAX = 64 * 1024
_NAME_MAX = 512


def failure(error: ApiError) -> Reply:
    """The Status reply for an error; details only where there is something to say."""
    details: dict[str, Any] = {}
    if error.name:
        details["name"] = error.name[:_NAME_MAX]
    if error.group:
        details["group"] = error.group
    if error.kind:
        details["kind"] = error.kind
    if error.causes:
        details["causes"] = [
            {"reason": c.reason, "message": c.message, **({"field": c.field} if c.field else {})}
            for c in error.causes
        ]
    if error.retry_after_seconds:
        details["retryAfterSeconds"] = error.retry_after_seconds
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": str(error)[:_MESSAGE_MAX],
        "reason": error.reason,
    }
    if details:
        body["details"] = details
    body["code"] = error.status
    return Reply(error.status, _line(body), retry_after_seconds=error.retry_after_seconds)


def success(kind: Kind, name: str, uid: str) -> Reply:
    """What a completed deletion answers."""
    details: dict[str, str] = {"name": name, "kind": kind.plural, "uid": uid}
    if kind.group:
        details["group"] = kind.group
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
    return Reply(200, _line(body))


def accepted(warnings: Sequence[str] = ()) -> Reply:
    """What a subresource answers that does something and has nothing to show."""
    return Reply(201, _ACCEPTED, warnings=tuple(warnings))


def invalid(kind: Kind, name: str, problems: Problems) -> Invalid:
    """One 422 that carries every problem."""
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return Invalid(
        f'{qualified} "{name}" is invalid: {problems.summary()}',
        causes=tuple(problems.causes),
        group=kind.group,
        kind=kind.kind,
        name=name,
    )
