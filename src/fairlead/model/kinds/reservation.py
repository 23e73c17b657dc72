"""Reservation (fairlead.dev/v1): room on a node, kept for one purpose (`intent`) of one owner.

At most one exists per owner and intent, because its name follows from them (`name_of`): whoever asks again after a
lost answer is told 409 with the name of the first, and whoever looks after a crash knows where. The server fills the
name in. The arithmetic is in `ledger/reservation.py`; `reconcile/reservation.py` finds a node, and ends it.
"""

from __future__ import annotations

from hashlib import blake2b

from fairlead.core.problems import Problems
from fairlead.core.times import parse_time
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.amounts import spell_amounts, validate_amount
from fairlead.model.kinds.workload import check_unchanged, part
from fairlead.model.names import label_key_problems, label_problems, name_problems
from fairlead.model.selectors import validate_label_selector

_FIXED = ("owner", "intent", "nodeName", "nodeSelector", "capacityClass", "requests", "allocateOnce")
PHASES = ("Pending", "Active", "Allocated", "Expired", "Released")
#: bound: objects | time a reservation may ask for | 422
TTL_SECONDS_MAX = 30 * 86400
_HASH_BYTES = 6


def name_for(owner_uid: str, intent: str) -> str:
    """The intent, and twelve hex digits of BLAKE2b-48 over owner uid, a line feed, and intent."""
    digest = blake2b(f"{owner_uid}\n{intent}".encode(), digest_size=_HASH_BYTES).hexdigest()
    return f"{intent}-{digest}"


def _name_of(reservation: Json) -> str:
    spec = part(reservation, "spec")
    uid, intent = part(spec, "owner").get("uid"), spec.get("intent")
    return name_for(uid, intent) if uid and intent else ""


def _defaults(reservation: Json) -> None:
    spec = part(reservation, "spec")
    spell_amounts(spec.get("requests"))
    if spec.get("allocateOnce") is None:
        spec["allocateOnce"] = True


def _validate(reservation: Json, problems: Problems) -> None:
    spec = part(reservation, "spec")
    intent = spec.get("intent") or ""
    for text in label_problems(intent):
        problems.invalid("spec.intent", intent, text)
    for field, value in part(spec, "owner").items():
        if not value:
            problems.required(f"spec.owner.{field}")
    name, wanted = part(reservation, "metadata").get("name"), _name_of(reservation)
    if wanted and name != wanted:
        problems.invalid(
            "metadata.name", name, f"must be {wanted}, which follows from owner and intent; or leave it out"
        )
    _validate_place(spec, problems)
    _validate_end(spec, problems)
    if not spec.get("requests"):
        problems.required("spec.requests", "say how much room is to be kept, such as cpu: 1")
    for resource, quantity in (spec.get("requests") or {}).items():
        at = f"spec.requests[{resource}]"
        for text in label_key_problems(resource):
            problems.invalid(at, resource, text)
        validate_amount(quantity, at, problems, whole=resource == "pods")


def _validate_place(spec: Json, problems: Problems) -> None:
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if bool(node) == (selector is not None):
        problems.invalid(
            "spec", {"nodeName": node, "nodeSelector": selector}, "give nodeName or nodeSelector"
        )
    if node:
        for text in name_problems("subdomain", node):
            problems.invalid("spec.nodeName", node, text)
    validate_label_selector(selector, "spec.nodeSelector", problems)
    if spec.get("capacityClass"):
        for text in label_problems(spec["capacityClass"]):
            problems.invalid("spec.capacityClass", spec["capacityClass"], text)


def _validate_end(spec: Json, problems: Problems) -> None:
    ttl = spec.get("ttlSeconds")
    if (ttl is None) == (not spec.get("expiresAt")):
        problems.required(
            "spec.ttlSeconds", "a reservation has an end: give ttlSeconds or expiresAt, one of them"
        )
    if ttl is not None and not 1 <= ttl <= TTL_SECONDS_MAX:
        problems.invalid("spec.ttlSeconds", ttl, f"must be between 1 and {TTL_SECONDS_MAX}")


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    """It may be prolonged or shortened; for anything else there is a new one."""
    check_unchanged(part(new, "spec"), part(old, "spec"), _FIXED, "spec", problems)


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    phase = part(new, "status").get("phase")
    if phase and phase not in PHASES:
        problems.unsupported("status.phase", phase, PHASES)


def expires_at(created: str, expires: str | None, ttl_seconds: int | None) -> float:
    return parse_time(expires) if expires else parse_time(created) + (ttl_seconds or 0)


def _owner(reservation: Json, now: float) -> Cell:
    owner = part(part(reservation, "spec"), "owner")
    return f"{owner.get('kind', '')}/{owner.get('name', '')}"


def _text(*path: str, otherwise: str = "") -> Column:
    def cell(reservation: Json, now: float) -> Cell:
        return part(reservation, path[0]).get(path[1]) or otherwise

    return Column(path[1].removesuffix("Name").capitalize(), cell)


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="Reservation",
    plural="reservations",
    namespaced=True,
    schema="Reservation",
    subresources=("status",),
    columns=(
        Column("Owner", _owner, description="Whom the room is kept for."),
        _text("spec", "intent"),
        _text("status", "phase", otherwise="Pending"),
        _text("status", "nodeName", otherwise="<none>"),
        AGE,
    ),
    name_of=_name_of,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
)
