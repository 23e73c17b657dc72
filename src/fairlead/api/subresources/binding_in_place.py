"""Bindings that ask for nothing but a node: the pod's bytes get the node and the condition, and are not decoded.

`binding.py` asks here first and goes the long way otherwise, which is also the only one that refuses anything. Both
store the same bytes (`tests/unit/api/test_binding.py`). The scheduler binds every pod, so this is a hot path.

Those that it has decided together come as one request and are one transaction. One that cannot be made in this way is
left out of it: the answer says which were made, and who wants to know why another was not asks for that one alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

import msgspec

from fairlead.api import charging
from fairlead.api.audit.rules import object_target
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import after_revision
from fairlead.api.plan import Context, Plan, decided_by
from fairlead.api.writing import plan_at
from fairlead.core import codec
from fairlead.core.errors import StorageReadError
from fairlead.core.spliced import Spliced
from fairlead.core.times import timestamp
from fairlead.model.diff import changed_fields
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.names import SUBDOMAIN_MAX, name_problems
from fairlead.port.request import JSON, Reply, Request
from fairlead.store.contract import AtRevision, Entry, Note, Put, Transaction

# Steps of admission that have nothing to say to a binding of a pod which changes no metadata and comes from no node.
_STEPS_WITHOUT_SAY = frozenset({"CustomResourceLifecycle", "NodeRestriction", "PlaneConditions"})
_STATUSES_KEPT = 256
_NAMES_KEPT = 8192  # of nodes, with whether they are names
_TIME = "@time@"
_NOTHING = msgspec.Raw()
A = TypeVar("A")


class _Meta(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Target(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, rename="camel"):
    name: str
    kind: str = "Node"
    api_version: str = ""


class _Binding(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, rename="camel"):
    target: _Target
    metadata: _Meta = _Meta()
    kind: str = "Binding"
    api_version: str = ""


class _Shell(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, rename="camel"):
    """A stored object whose parts are left as they are."""

    api_version: str
    kind: str
    metadata: msgspec.Raw
    spec: msgspec.Raw
    status: msgspec.Raw = _NOTHING


class _Scheduled(NamedTuple):
    """A status with the condition PodScheduled=True, but for its time; and which fields of the pod that changes."""

    status: Spliced
    changed: tuple[str, ...]


_asked = msgspec.json.Decoder(_Binding).decode
_shell = msgspec.json.Decoder(_Shell).decode


class _Bound(msgspec.Struct, frozen=True, gc=False):
    put: Put
    at: AtRevision
    notes: tuple[Note, ...]


def bind_in_place(desk: Desk, request: Request, kind: Kind, context: Context) -> Transaction | None:
    """The transaction that binds the pod; None where there is more to say."""
    if request.content_type != JSON or request.query or not _is_plain(desk, kind, context):
        return None
    try:
        asked = _asked(request.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    current = find(desk, kind, request)
    if (
        asked.kind != "Binding"
        or asked.target.kind != "Node"
        or asked.metadata.name not in ("", request.name)
        or asked.metadata.uid not in ("", current.uid)
    ):
        return None
    space = _uncharged(desk, current.key.namespace)
    bound = _bound(desk, kind, context, current, asked.target.name) if space is not None else None
    if space is None or bound is None:
        return None
    return Transaction((bound.put,), (bound.at, _at(space)), bound.notes)


def bind_together(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    uncharged = partial(_uncharged, desk)
    spaces = {name: _if_sound(uncharged, name) for name in {each.namespace for each in request.bindings}}
    is_plain = _is_plain(desk, kind, context)
    bound: list[_Bound] = []
    made: list[bool] = []
    for each in request.bindings:
        current = _if_sound(desk.sound.get, Key(kind.resource, each.namespace, each.name))
        found = None
        if (
            is_plain
            and spaces[each.namespace] is not None
            and current is not None
            and current.uid == each.uid
        ):
            found = _bound(desk, kind, decided_by(context, each.decision), current, each.node)
        if found is not None:
            bound.append(found)
        made.append(found is not None)
    answer = Reply(200, b"", each=tuple(made))
    if not bound:
        return answer
    transaction = Transaction(
        tuple([each.put for each in bound]),
        (*[each.at for each in bound], *[_at(each) for each in spaces.values() if each is not None]),
        tuple([note for each in bound for note in each.notes]),
    )
    return plan_at(transaction, lambda _: answer)


def _if_sound(read: Callable[[A], Entry | None], what: A) -> Entry | None:
    """What cannot be read is left out, and keeps nobody else."""
    try:
        return read(what)
    except StorageReadError:
        return None


def _is_plain(desk: Desk, kind: Kind, context: Context) -> bool:
    if desk.policies.active and desk.policies.concern(kind, "binding"):
        return False
    steps = desk.chain.names_of_steps(kind.resource, "create", "binding")
    return not context.user.node_name and steps <= _STEPS_WITHOUT_SAY


def _uncharged(desk: Desk, namespace: str) -> Entry | None:
    """The namespace, if no quota there counts placements: that none was added meanwhile is its revision to say."""
    if desk.sound.list(charging.PLACEMENT, namespace):
        return None
    return desk.sound.get(Key("namespaces", "", namespace))


def _at(entry: Entry) -> AtRevision:
    return AtRevision(entry.key, entry.revision)


def _bound(desk: Desk, kind: Kind, context: Context, current: Entry, node: str) -> _Bound | None:
    """A pod on its node; None where that is not all there is to it."""
    try:
        pod = _shell(current.data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    spec, status = bytes(pod.spec), bytes(pod.status)
    if (
        len(node) > SUBDOMAIN_MAX  # so that what is kept of names is small
        or not _is_name(node)
        or len(spec) <= 2
        or b'"nodeName"' in spec
        or b'"schedulingGates"' in spec
        or b'"deletionTimestamp"' in bytes(pod.metadata)
    ):
        return None
    after = b',"spec":%b,"status":%b}' % (spec, status)
    if not status or not current.data.endswith(after):
        return None
    scheduled = _scheduled(status)
    at = after_revision(current.data)
    tail = b'%b,"spec":%b,"nodeName":"%b"},"status":%b}' % (
        current.data[at : -len(after)],
        spec[:-1],
        node.encode(),
        scheduled.status.fill({b"time": timestamp(context.now).encode()}),
    )
    head = current.data[: at - len(str(current.revision))]
    target = object_target(kind, current.key, current.uid, "binding")
    notes = desk.audit.accepted(
        context, "create", target, 200, revision_before=current.revision, changed=scheduled.changed
    )
    return _Bound(Put(current.key, current.uid, head, tail), _at(current), notes)


@lru_cache(maxsize=_NAMES_KEPT)
def _is_name(node: str) -> bool:
    return not name_problems("subdomain", node)


@lru_cache(maxsize=_STATUSES_KEPT)
def _scheduled(status: bytes) -> _Scheduled:
    before: Json = codec.decode(status)
    after = scheduled_status(before, _TIME)
    changed = changed_fields({"spec": {}, "status": before}, {"spec": {"nodeName": ""}, "status": after})
    return _Scheduled(Spliced(codec.encode(after), {b"time": b"@time@"}), changed)


def scheduled_status(status: Json, time: str) -> Json:
    """The status of a pod that was given its node."""
    others = [each for each in status.get("conditions") or () if each.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time}
    return {**status, "conditions": [*others, scheduled]}
