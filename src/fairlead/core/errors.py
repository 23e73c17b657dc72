"""The one error tree. Raised anywhere, turned into a Kubernetes Status by `api/` and an exit code by `cli/`.

    FairleadError
    ├── ApiError                    a request cannot be served; becomes a Status
    │   ├── BadRequest        400   never   the request itself is malformed
    │   ├── Unauthorized      401   never   no or wrong credentials
    │   ├── Forbidden         403   never   known, but not allowed
    │   ├── NotFound          404   never   exit 7
    │   ├── MethodNotAllowed  405   never
    │   ├── NotAcceptable     406   never   no representation the client accepts
    │   ├── AlreadyExists     409   never
    │   ├── Conflict          409   now     re-read, decide again
    │   ├── Expired           410   now     relist: the revision is compacted
    │   ├── TooLarge          413   never
    │   ├── UnsupportedMedia  415   never
    │   ├── Invalid           422   never   well-formed, wrong values; carries every problem
    │   ├── TooManyRequests   429   later
    │   ├── HeadersTooLarge   431   never
    │   ├── InternalError     500   later
    │   ├── StorageReadError  500   later   it rests on an object that is damaged in the store; people must end that
    │   ├── Unavailable       503   later
    │   ├── TimedOut          504   later   the outcome is not known: look before repeating
    │   └── StorageFull       507   later   nothing was written
    └── OperatorError               a command or a start cannot go on; message says what to do next
        ├── UsageError              exit 2
        ├── DataDirectoryError      exit 3  unreadable, read-only, foreign or torn
        ├── DataDirectoryBusy       exit 4  another process has it open
        ├── FormatError             exit 5  written by a newer version
        └── Unreachable             exit 6  no server answers

A class exists only if some caller treats it differently. `reason` is stable and never renamed.
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

Retry = Literal["now", "later", "never"]


class Cause(NamedTuple):
    """One entry of Status.details.causes: what is wrong with which field."""

    reason: str
    message: str
    field: str = ""


FENCED = "Fenced"  # reason of a cause whose field is the key of the object that a write was bound to
LIFTED_BY = "LiftedBy"  # reason of a cause whose field is the address of an object
CURRENT_VERSION = (
    "CurrentVersion"  # reason of a cause whose message is a conflicting object's resourceVersion
)


def lifted_by(resource: str, namespace: str, name: str, how: str) -> Cause:
    """This object is why a request is refused: when it changes, the same request may be served. Without a name: any
    object of the resource there. `how`: what a person may do about it."""
    return Cause(LIFTED_BY, how, f"{resource}/{namespace}/{name}")


def current_version(revision: int) -> Cause:
    """Of the object that is there now: a client with a cache waits for it before it tries again."""
    return Cause(CURRENT_VERSION, str(revision), "metadata.resourceVersion")


class FairleadError(Exception):
    """Root. `str(error)` is the sentence a person reads."""

    reason: ClassVar[str] = "InternalError"
    exit_code: ClassVar[int] = 1
    retry: ClassVar[Retry] = "never"


class ApiError(FairleadError):
    """A request that cannot be served. `api/status.py` turns it into a Kubernetes Status."""

    status: ClassVar[int] = 500

    def __init__(
        self,
        message: str,
        *,
        causes: tuple[Cause, ...] = (),
        group: str = "",
        kind: str = "",
        name: str = "",
        retry_after_seconds: int = 0,
    ) -> None:
        super().__init__(message)
        self.causes = causes
        self.group = group
        self.kind = kind
        self.name = name
        self.retry_after_seconds = retry_after_seconds
        self.policies: tuple[str, ...] = ()  # admission policies that had a part in it, for the audit log


class BadRequest(ApiError):
    reason, status = "BadRequest", 400


class Unauthorized(ApiError):
    reason, status = "Unauthorized", 401


class Forbidden(ApiError):
    reason, status = "Forbidden", 403


class NotFound(ApiError):
    reason, status, exit_code = "NotFound", 404, 7


class MethodNotAllowed(ApiError):
    reason, status = "MethodNotAllowed", 405


class NotAcceptable(ApiError):
    reason, status = "NotAcceptable", 406


class AlreadyExists(ApiError):
    reason, status = "AlreadyExists", 409


class Conflict(ApiError):
    reason, status, retry = "Conflict", 409, "now"


class Expired(ApiError):
    reason, status, retry = "Expired", 410, "now"


class TooLarge(ApiError):
    reason, status = "RequestEntityTooLarge", 413


class UnsupportedMedia(ApiError):
    reason, status = "UnsupportedMediaType", 415


class Invalid(ApiError):
    reason, status = "Invalid", 422


class TooManyRequests(ApiError):
    reason, status, retry = "TooManyRequests", 429, "later"


class HeadersTooLarge(ApiError):
    reason, status = "RequestHeaderFieldsTooLarge", 431


class InternalError(ApiError):
    reason, status, retry = "InternalError", 500, "later"


class StorageReadError(ApiError):
    reason, status, retry = "StorageReadError", 500, "later"


class Unavailable(ApiError):
    reason, status, retry = "ServiceUnavailable", 503, "later"


class TimedOut(ApiError):
    reason, status, retry = "Timeout", 504, "later"


class StorageFull(ApiError):
    reason, status, retry = "InsufficientStorage", 507, "later"


class OperatorError(FairleadError):
    """A command cannot go on. The message names the cause and the next step."""

    reason, exit_code = "OperatorError", 1


class UsageError(OperatorError):
    reason, exit_code = "UsageError", 2


class DataDirectoryError(OperatorError):
    reason, exit_code = "DataDirectoryError", 3


class DataDirectoryBusy(OperatorError):
    reason, exit_code = "DataDirectoryBusy", 4


class FormatError(OperatorError):
    reason, exit_code = "FormatError", 5


class Unreachable(OperatorError):
    reason, exit_code = "Unreachable", 6
