"""AccessGrant (fairlead.dev/v1): a role for somebody, in few places, for a reason and a short time.

Read by `model/catalog.py`. In no namespace, so that no role of a namespace reaches it, however wide: whoever may do
everything in `shop` may not grant themselves more. What it grants is decided in `api/access/breakglass/`, by the
server's clock and for each request anew: nothing has to be cleaned up when it ends.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.core.times import SECOND, parse_duration, parse_time
from fairlead.model.cells import AGE, NONE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.names import label_problems, name_problems

GROUP, VERSION = "fairlead.dev", "v1"
APPROVED, DENIED, REVOKED = "Approved", "Denied", "Revoked"
OPEN, CLOSED = "Open", "Closed"
USER, USER_GROUP = "User", "Group"
#: bound: grants | time for which one can be asked | 422
EXPIRES_AFTER_SECONDS_MAX = 8 * 3600
#: bound: grants | the shortest | 422
EXPIRES_AFTER_SECONDS_MIN = 60
#: bound: grants | namespaces of one | 422
NAMESPACES_MAX = 16
#: bound: grants | characters of a reason, a ticket or a note | 422
WORDS_MAX = 1024
_ENUMS = (
    ("subject", ("User", "Group")),
    ("role", ("ClusterRole", "Role")),
)


def lasts_seconds(spec: Json) -> float:
    """How long it holds from its approval on; ValueError if that cannot be read."""
    return parse_duration(str(spec.get("expiresAfter") or "")) / SECOND


def ends_at(grant: Json) -> float:
    """When it ends, in seconds since the epoch; 0 if nobody approved it."""
    text = part(grant, "status").get("expiresAt")
    return parse_time(text) if text else 0.0


def phase_of(grant: Json, now: float) -> str:
    """Pending, Active, Expired, Denied or Revoked: what it is at an instant."""
    decision = part(grant, "status").get("decision") or ""
    if decision != APPROVED:
        return decision or "Pending"
    return "Active" if now < ends_at(grant) else "Expired"


def has_ended(grant: Json, now: float) -> bool:
    """Whether it held once, and does no more: then it is to be reviewed."""
    return bool(ends_at(grant)) and phase_of(grant, now) in ("Expired", REVOKED)


def _validate(grant: Json, problems: Problems) -> None:
    spec = part(grant, "spec")
    for field, kinds in _ENUMS:
        named = part(spec, field)
        if named.get("kind") not in kinds:
            problems.unsupported(f"spec.{field}.kind", named.get("kind") or "", kinds)
        if not named.get("name"):
            problems.required(f"spec.{field}.name")
    if str(part(spec, "subject").get("name") or "").startswith("system:"):
        problems.invalid(
            "spec.subject.name",
            part(spec, "subject")["name"],
            "is the plane's own, or everybody: name people",
        )
    _validate_place(spec, problems)
    if not str(spec.get("reason") or "").strip():
        problems.required("spec.reason", "say why, in a sentence: it is what a reviewer reads")
    for field in ("reason", "ticket"):
        if len(spec.get(field) or "") > WORDS_MAX:
            problems.too_long(f"spec.{field}", WORDS_MAX)
    _validate_end(spec, problems)


def _validate_place(spec: Json, problems: Problems) -> None:
    spaces, about = spec.get("namespaces") or [], spec.get("object")
    if bool(spaces) == (about is not None):
        problems.invalid("spec", "", "a grant is narrow: give namespaces or object, one of them")
    if len(spaces) > NAMESPACES_MAX:
        problems.too_many("spec.namespaces", len(spaces), NAMESPACES_MAX)
    for index, space in enumerate(spaces[:NAMESPACES_MAX]):
        for text in label_problems(space):
            problems.invalid(f"spec.namespaces[{index}]", space, text)
    if about is None:
        return
    for field in ("resource", "name"):
        if not about.get(field):
            problems.required(f"spec.object.{field}")
    if about.get("name"):
        for text in name_problems("path-segment", about["name"]):
            problems.invalid("spec.object.name", about["name"], text)
    if part(spec, "role").get("kind") == "Role" and not about.get("namespace"):
        problems.invalid("spec.role.kind", "Role", "an object that is in no namespace needs a ClusterRole")


def _validate_end(spec: Json, problems: Problems) -> None:
    given = spec.get("expiresAfter")
    if not given:
        problems.required("spec.expiresAfter", "a grant has an end: say after how long, such as 30m")
        return
    try:
        seconds = lasts_seconds(spec)
    except ValueError as error:
        problems.invalid("spec.expiresAfter", given, str(error))
        return
    if not EXPIRES_AFTER_SECONDS_MIN <= seconds <= EXPIRES_AFTER_SECONDS_MAX:
        hours, minutes = EXPIRES_AFTER_SECONDS_MAX // 3600, EXPIRES_AFTER_SECONDS_MIN // 60
        problems.invalid(
            "spec.expiresAfter", given, f"must be between {minutes}m and {hours}h: ask again when it ends"
        )


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    if new.get("spec") != old.get("spec"):
        problems.invalid("spec", "", "field is immutable: ask anew for more, or for longer")


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    note = part(part(new, "status"), "review").get("note") or ""
    if len(note) > WORDS_MAX:
        problems.too_long("status.review.note", WORDS_MAX)


def _subject(grant: Json, now: float) -> Cell:
    subject = part(part(grant, "spec"), "subject")
    name = subject.get("name") or ""
    return f"group {name}" if subject.get("kind") == USER_GROUP else name


def _where(grant: Json, now: float) -> Cell:
    spec = part(grant, "spec")
    about = spec.get("object")
    if about is None:
        return ",".join(spec.get("namespaces") or ())
    return "/".join(
        each for each in (about.get("namespace"), about.get("resource"), about.get("name")) if each
    )


def _until(grant: Json, now: float) -> Cell:
    return part(grant, "status").get("expiresAt") or NONE


def _review(grant: Json, now: float) -> Cell:
    return part(part(grant, "status"), "review").get("state") or NONE


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="AccessGrant",
    plural="accessgrants",
    namespaced=False,
    schema="AccessGrant",
    subresources=("status",),
    generation=False,
    deletecollection=False,
    columns=(
        Column("Subject", _subject, description="Who gets it."),
        Column("Role", lambda grant, now: part(part(grant, "spec"), "role").get("name") or ""),
        Column("Where", _where, description="The namespaces, or the one object."),
        Column("Phase", phase_of, description="Pending, Active, Expired, Denied or Revoked."),
        Column("Until", _until, description="When it ends."),
        Column("Review", _review, description="Open from its end on, until somebody else closes it."),
        AGE,
    ),
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
)
