"""A binding that asks for nothing but a node: the pod's bytes get the node and the condition, and are not decoded.

`binding.py` asks here first and goes the long way otherwise, which is also the only one that refuses anything. Both
store the same bytes (`tests/unit/api/test_binding.py`). The scheduler binds every pod, so this is a hot path.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import msgspec

from fairlead.api import charging
from fairlead.api.audit_policy import Target
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import after_revision
from fairlead.api.plan import Context
from fairlead.core import codec
from fairlead.core.spliced import Spliced
from fairlead.core.times import timestamp
from fairlead.model.diff import changed_fields
from fairlead.model.kind import Json, Kind
from fairlead.model.names import name_problems
from fairlead.port.request import JSON, Request
from fairlead.store.contract import AtRevision, Key, Put, Transaction

# Steps of admission that have nothing to say to a binding of a pod which changes no metadata and comes from no node.
_STEPS_WITHOUT_SAY = frozenset({"CustomResourceLifecycle", "NodeRestriction", "PlaneConditions"})
_STATUSES_KEPT = 256
_TIME = "@time@"
_NOTHING = msgspec.Raw()


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


def bind_in_place(desk: Desk, request: Request, kind: Kind, context: Context) -> Transaction | None:
    """The transaction that binds the pod; None where there is more to say."""
    if request.content_type != JSON or request.query or context.user.node_name:
        return None
    if desk.chain.names_of_steps(kind.resource, "create", "binding") - _STEPS_WITHOUT_SAY:
        return None
    try:
        asked = _asked(request.body)
        current = find(desk, kind, request)
        pod = _shell(current.data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    node, spec = asked.target.name, bytes(pod.spec)
    if (
        asked.kind != "Binding"
        or asked.target.kind != "Node"
        or asked.metadata.name not in ("", request.name)
        or asked.metadata.uid not in ("", current.uid)
        or name_problems("subdomain", node)
        or len(spec) <= 2
        or b'"nodeName"' in spec
        or b'"schedulingGates"' in spec
        or b'"deletionTimestamp"' in bytes(pod.metadata)
        or desk.sound.list(charging.PLACEMENT, current.key.namespace)
    ):
        return None
    status = bytes(pod.status)
    after = b',"spec":%b,"status":%b}' % (spec, status)
    space = desk.sound.get(Key("namespaces", "", current.key.namespace))
    if space is None or not status or not current.data.endswith(after):
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
    target = Target(kind.group, kind.plural, current.key.namespace, current.key.name, "binding", current.uid)
    notes = desk.audit.accepted(
        context,
        "create",
        target,
        200,
        revision_before=current.revision,
        changed=scheduled.changed,
    )
    return Transaction(
        (Put(current.key, current.uid, head, tail),),
        (AtRevision(current.key, current.revision), AtRevision(space.key, space.revision)),
        notes,
    )


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
