"""POST pods/NAME/binding: the only way a pod gets its node, once and for all.

Whoever binds is told the truth about a pod that has a node already: 409 with its name, whether that was the
caller's own earlier attempt or somebody else's. Binding again to the same node is a conflict too, as in
Kubernetes: after an unknown outcome the next step is to look.

Binding, charging every PlacementQuota that is about the node, and using the reservation which the Binding names
(annotation `fairlead.dev/reservation`) are one transaction: `api/charging.py`. Plain bindings, and several of them at
once, are made in `binding_in_place.py`.
"""

from __future__ import annotations

import msgspec

from fairlead.api import body, borrowing, charging, options, spec_split
from fairlead.api.admission.policies.mutating import mutate
from fairlead.api.admission.policies.validating import validate
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import plain
from fairlead.api.plan import Context, Plan
from fairlead.api.status import accepted, invalid
from fairlead.api.subresources.binding_in_place import (
    bind_in_place,
    bind_together,
    scheduled_status,
)
from fairlead.api.writing import plan_at, transaction_for
from fairlead.core.errors import Conflict
from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.ledger.reservation import ANNOTATION
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.names import name_problems
from fairlead.port.request import Reply, Request
from fairlead.store.contract import AtRevision, Entry


def create(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    if request.bindings:
        return bind_together(desk, request, kind, context)
    plain_binding = bind_in_place(desk, request, kind, context)
    if plain_binding is not None:
        return plan_at(plain_binding, lambda _: accepted())
    asked = body.read_json(desk, request)
    body.check_structure(desk, "Binding", asked, "Ignore", body.json_text(request))
    body.check_meant_for(asked, request, "Binding")
    current = find(desk, kind, request)
    old, spec, managed = _opened(current)
    attempt = Attempt(
        kind=kind, verb="create", subresource="binding", key=current.key, context=context, read=desk.sound,
        new=old, old=old, current=current, sent=asked, dry_run=options.dry_run(request.query),
        managed_before=managed, managed=managed,  # the scheduler comes to own nothing by it, as in Kubernetes
    )  # fmt: skip
    if desk.policies.active:
        mutate(desk, attempt)
    node = _target(kind, request, asked)
    _check_free(kind, current, old, asked)
    attempt.new = _bound(old, node, asked, context.now)  # its generation stays: a node is no new intent
    attempt.spec = _on_node(spec, node) if spec is not None else None
    desk.chain.admit(attempt)
    _charge(attempt, node, asked)
    if desk.policies.active:
        validate(desk, attempt)
    if attempt.dry_run:
        return accepted(attempt.warnings)
    return plan_at(transaction_for(desk, attempt), lambda _: accepted(attempt.warnings))


def _opened(current: Entry) -> tuple[Json, bytes | None, bytes]:
    """The pod as it is, and its managedFields. A spec that says nothing of what matters here is left as bytes, and
    empty in the tree."""
    found = spec_split.split_entry(current)
    if found is not None:
        spec = bytes(found.opened.spec)
        if len(spec) > 2 and b'"nodeName"' not in spec and b'"schedulingGates"' not in spec:
            return found.opened.tree({}), spec, found.managed
    old, managed = plain(current)
    return old, None, managed


def _on_node(spec: bytes, node: str) -> msgspec.Raw:
    return msgspec.Raw(b'%b,"nodeName":"%b"}' % (spec[:-1], node.encode()))


def _charge(attempt: Attempt, node: str, asked: Json) -> None:
    """What else this binding takes. That no quota was added meanwhile is the namespace's revision to say."""
    current, read = attempt.current, attempt.read
    assert current is not None
    space = read.get(Key("namespaces", "", current.key.namespace))
    if space is not None:
        attempt.preconditions.append(AtRevision(space.key, space.revision))
    reservation = ((asked.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
    if reservation or read.list(charging.PLACEMENT, current.key.namespace):
        pod = borrowing.decode_pod(current.data)
        charging.charge_placement(attempt, pod, node)
        if reservation:
            charging.use_reservation(attempt, pod, reservation, node)


def _target(kind: Kind, request: Request, asked: Json) -> str:
    target = asked.get("target") or {}
    problems = Problems()
    if (target.get("kind") or "Node") != "Node":
        problems.unsupported("target.kind", target["kind"], ("Node",))
    if not target.get("name"):
        problems.required("target.name", "name the node")
    else:
        for text in name_problems("subdomain", target["name"]):
            problems.invalid("target.name", target["name"], text)
    if problems:
        raise invalid(kind, request.name, problems)
    name: str = target["name"]
    return name


def _check_free(kind: Kind, current: Entry, old: Json, asked: Json) -> None:
    wanted_uid = (asked.get("metadata") or {}).get("uid")
    if wanted_uid and wanted_uid != current.uid:
        problem = f"uid in binding is {wanted_uid}, uid of the pod is {current.uid}"
    elif "deletionTimestamp" in old["metadata"]:
        problem = f"pod {current.key.name} is being deleted, cannot be assigned to a host"
    elif old["spec"].get("nodeName"):
        problem = f'pod {current.key.name} is already assigned to node "{old["spec"]["nodeName"]}"'
    elif old["spec"].get("schedulingGates"):
        problem = f"pod {current.key.name} has non-empty .spec.schedulingGates"
    else:
        return
    raise Conflict(
        f'Operation cannot be fulfilled on {kind.plural}/binding "{current.key.name}": {problem}',
        kind=f"{kind.plural}/binding",
        name=current.key.name,
    )


def _bound(old: Json, node: str, asked: Json, now: float) -> Json:
    """The pod with its node, the binder's annotations, and the condition that says it is scheduled."""
    status = scheduled_status(old.get("status") or {}, timestamp(now))
    metadata = dict(old["metadata"])
    annotations = (asked.get("metadata") or {}).get("annotations")
    if annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    return {**old, "metadata": metadata, "spec": {**old["spec"], "nodeName": node}, "status": status}
