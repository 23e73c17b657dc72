"""A finalizer that a person takes away is no finished clean-up: what it guarded is looked for, and told.

Of finalizers that a controller here removes when its work is done (`ledger/repair.py`, OURS). Whoever else removes one
is not refused: they get a warning, and an Event about the object commits with the write, also where the object goes
with it. It says what is left: dependents and reservations of the object and the quota that its pods hold, a pod that
uses a reservation's room, a Job that has not counted a pod's end. A pod whose reservation's guard was removed is marked
(GUARD_REMOVED): it stays after the Event has gone, and nothing else would tell.
Of an object in no namespace, whose Event many may read, what it owns in namespaces is counted and not named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import plain, put
from fairlead.core import codec, ids
from fairlead.core.errors import StorageReadError
from fairlead.core.quantity import Quantity
from fairlead.core.times import timestamp
from fairlead.ledger.handover import holds_placement
from fairlead.ledger.pod_needs import Usage, add, placed_usage
from fairlead.ledger.repair import OURS, TRACKING
from fairlead.ledger.reservation import IN_USE
from fairlead.model.catalog import CATALOG
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.event_words import FINALIZER_REMOVED
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds import event
from fairlead.model.kinds.event import MESSAGE_MAX
from fairlead.model.kinds.pod.kind import KIND as POD
from fairlead.model.marks import GUARD_REMOVED
from fairlead.model.views import JOBS, PODS, RESERVATIONS, Job, Pod, Reservation
from fairlead.store.contract import AtRevision, Entry

NAME = "FinalizerRemoved"
#: bound: objects | leftovers that an Event about a removed finalizer names | the others are counted
LEFTOVERS_TOLD_MAX = 5
_SYSTEM = "system:"  # how the names of all begin that are no people
_COMPONENT = "fairlead-api"
_UNSEARCHED = frozenset({"events", "leases.coordination.k8s.io"})
_DEPTH_MAX = 3  # of owners of owners
_EVENT_UID = 1  # the position in the request's entropy: 0 is for what is asked for
_UIDS = re.compile(rb'"uid":"([^"\\\\]+)"').findall
_pod = msgspec.json.Decoder(Pod).decode
_job = msgspec.json.Decoder(Job).decode
_reservation = msgspec.json.Decoder(Reservation).decode


def _admit(attempt: Attempt) -> None:
    old, new = attempt.old, attempt.new
    if old is None or new is None or attempt.context.user.name.startswith(_SYSTEM):
        return
    before = old["metadata"].get("finalizers")
    if not before:
        return
    gone = sorted(OURS.intersection(before).difference(new["metadata"].get("finalizers") or ()))
    if not gone:
        return
    left = [text for name in gone for text in _readable(attempt, name, old)]
    found = "; left over: " + "; ".join(left) if left else "; nothing is left of what it guarded"
    who = attempt.context.user.name
    told = f"finalizer {', '.join(gone)} was removed by {who}, which is no finished clean-up{found}"
    attempt.warnings.append(told)
    if not attempt.dry_run:
        _tell(attempt, told, "Warning" if left else "Normal")


def _readable(attempt: Attempt, finalizer: str, obj: Json) -> Iterator[str]:
    """Nobody is refused because what is looked for is damaged in the store: that is told as well."""
    try:
        yield from _left(attempt, finalizer, obj)
    except StorageReadError as error:
        yield f"it is not known what {finalizer} guarded: {error}"


def _left(attempt: Attempt, finalizer: str, obj: Json) -> Iterator[str]:
    if finalizer == TRACKING:
        yield from _uncounted(attempt, obj)
    elif finalizer == IN_USE:
        yield from _in_use(attempt, obj)
    else:
        yield from _dependents(attempt, obj["metadata"]["uid"])


def _uncounted(attempt: Attempt, obj: Json) -> Iterator[str]:
    pod = msgspec.convert(obj, Pod)
    owner = pod.metadata.controller
    entry = attempt.read.get(Key(JOBS.name, attempt.key.namespace, owner.name)) if owner is not None else None
    if entry is None or owner is None or entry.uid != owner.uid:
        return
    known = _job(entry.data).status.uncounted_terminated_pods
    if not any(pod.metadata.uid in (known.get(each) or ()) for each in ("succeeded", "failed")):
        how = (
            "how it ended" if pod.finished else f"it, and it still runs on {pod.spec.node_name or 'no node'}"
        )
        yield f"job {owner.name} has not counted {how}"


def _in_use(attempt: Attempt, obj: Json) -> Iterator[str]:
    found = msgspec.convert(obj, Reservation)
    user = found.status.allocated_to
    entry = attempt.read.get(Key(PODS.name, attempt.key.namespace, user.name)) if user is not None else None
    if entry is None or user is None or entry.uid != user.uid:
        return
    pod = _pod(entry.data)
    if not pod.finished:
        class_ = f" of capacity class {found.spec.capacity_class}" if found.spec.capacity_class else ""
        if not attempt.dry_run:
            _mark(attempt, entry)
        yield f"pod {user.name} uses its room{class_} on {pod.spec.node_name}, and nothing tells so any more"


def _mark(attempt: Attempt, pod: Entry) -> None:
    """What remains says so itself, for as long as it is there."""
    marked, managed = plain(pod)
    context = attempt.context
    told = (
        f"{context.user.name} removed {IN_USE} from reservation {attempt.key.name} at {timestamp(context.now)}:"
        " this pod uses room that nothing holds for it any more"
    )
    marked["metadata"].setdefault("annotations", {})[GUARD_REMOVED] = told
    attempt.preconditions.append(AtRevision(pod.key, pod.revision))
    attempt.operations.append(put(POD, pod.key, marked, None, managed))


def _dependents(attempt: Attempt, uid: str) -> Iterator[str]:
    """Also theirs, as the pods of a Deployment are those of its ReplicaSets."""
    names, held, charged, unnamed = list[str](), dict[str, int](), 0, 0
    unread: dict[str, None] = {}  # resources of which one is damaged
    uids = {uid}
    for _ in range(_DEPTH_MAX):
        found = list(_owned_by(attempt, uids, unread))
        uids = {entry.uid for _, entry in found}
        for sort, entry in found:
            if entry.key.namespace != attempt.key.namespace:
                unnamed += 1
            elif entry.key.resource == RESERVATIONS.name:
                names.append(
                    f"reservation {entry.key.name} ({_reservation(entry.data).status.phase or 'Pending'})"
                )
            else:
                names.append(f"{sort} {entry.key.name}")
            charged += entry.key.resource == PODS.name and _charge(held, _pod(entry.data))
        if not found:
            break
    if names:
        more = len(names) - LEFTOVERS_TOLD_MAX
        yield ", ".join(names[:LEFTOVERS_TOLD_MAX]) + (f" and {more} more" if more > 0 else "")
    if unnamed:
        yield f"{unnamed} object{'s' if unnamed > 1 else ''} in namespaces"
    if charged:
        amounts = ", ".join(f"{name} {Quantity(held[name])}" for name in sorted(held) if name != "pods")
        yield f"{charged} of its pods hold what quotas count of nodes" + (f": {amounts}" if amounts else "")
    if unread:
        yield f"{', '.join(unread)} could not be searched, of which one is damaged in the store"


def _owned_by(attempt: Attempt, uids: set[str], unread: dict[str, None]) -> Iterator[tuple[str, Entry]]:
    """Objects that name one of these as an owner, and reservations that are kept for one, each with what it is."""
    marks = {each.encode() for each in uids}
    for resource, sort in _searched(attempt, unread):
        for entry in _entries(attempt, resource, attempt.key.namespace, unread):
            if not marks.isdisjoint(_UIDS(entry.data)) and _is_owned(entry, uids):
                yield sort, entry


def _searched(attempt: Attempt, unread: dict[str, None]) -> Iterator[tuple[str, str]]:
    """Every resource, custom ones too, and what one object of it is called."""
    for kind in CATALOG:
        if kind.resource not in _UNSEARCHED and not kind.presented:
            yield kind.resource, kind.singular_name
    for entry in _entries(attempt, DEFINITIONS, "", unread):
        spec = codec.decode(entry.data)["spec"]
        names = spec["names"]
        yield f"{names['plural']}.{spec['group']}", str(names.get("singular") or names["kind"].lower())


def _entries(attempt: Attempt, resource: str, namespace: str, unread: dict[str, None]) -> Sequence[Entry]:
    try:
        return attempt.read.list(resource, namespace)
    except StorageReadError:
        unread[resource] = None
        return ()


def _is_owned(entry: Entry, uids: set[str]) -> bool:
    obj: Json = codec.decode(entry.data)
    owners = list(obj["metadata"].get("ownerReferences") or ())
    if entry.key.resource == RESERVATIONS.name:
        owners.append(obj["spec"]["owner"])
    return any(each.get("uid") in uids for each in owners)


def _charge(held: Usage, pod: Pod) -> bool:
    if not pod.spec.node_name or pod.finished or not holds_placement(pod):
        return False
    add(held, placed_usage(pod.spec))
    return True


def _tell(attempt: Attempt, message: str, sort: str) -> None:
    context, key = attempt.context, attempt.key
    assert attempt.old is not None
    about = {
        "apiVersion": attempt.kind.api_version,
        "kind": attempt.kind.kind,
        "name": key.name,
        "uid": attempt.old["metadata"]["uid"],
    }
    if key.namespace:
        about["namespace"] = key.namespace
    space, now = key.namespace or "default", timestamp(context.now)
    name = ids.generated_name(f"{key.name[:40]}.", context.entropy, _EVENT_UID)
    body: Json = {
        "metadata": {
            "name": name,
            "namespace": space,
            "uid": ids.uid(context.entropy, _EVENT_UID),
            "creationTimestamp": now,
        },
        "involvedObject": about,
        "type": sort,
        "reason": FINALIZER_REMOVED,
        "message": message[:MESSAGE_MAX],
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
        "reportingInstance": "",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "eventTime": None,
    }
    attempt.operations.append(put(event.KIND, Key(event.KIND.resource, space, name), body))


STEP = AdmissionStep(
    NAME,
    _admit,
    frozenset({"update", "patch"}),
    does="tells by an Event what a finalizer guarded that a person removes",
)
