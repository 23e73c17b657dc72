"""Services get an address and node ports that no other Service has, keep them, and give them back when they go.

Like Kubernetes, an update that leaves out what was handed out means the same as before, and a change of type drops what
the new type has no use for. Addresses are dealt with in `cluster_ip.py`, ports in `node_ports.py`; both are claims
(`api/claims.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.api import claims
from fairlead.api.admission import cluster_ip, node_ports
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import is_finished
from fairlead.api.status import invalid
from fairlead.core.problems import Problems
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds import service
from fairlead.store.contract import HasUid


def _admit(attempt: Attempt) -> None:
    new, old = attempt.new, attempt.old
    assert new is not None
    if is_finished(new):
        _give_up(attempt, _held(old), ())
        return
    if attempt.verb == "delete":
        return
    if old is not None:
        _keep(new["spec"], old["spec"])
    elif (namesake := attempt.read.newest(attempt.key)) is not None:
        # Its name is taken, and that is what the client is to be told. Once the namesake is gone it is planned anew.
        attempt.preconditions.append(HasUid(attempt.key, namesake.uid))
        return
    problems = Problems()
    before = _held(old)
    cluster_ip.check_families(new["spec"], old, problems)
    cluster_ip.give_address(attempt, before, problems)
    node_ports.give_ports(attempt, before, problems)
    if problems:
        attempt.kind.validate(new, problems)  # all problems at once
        raise invalid(attempt.kind, attempt.key.name, problems)
    _give_up(attempt, before, _held(new))


def _held(obj: Json | None) -> tuple[Key, ...]:
    """The claims that go with a Service as it is."""
    if obj is None:
        return ()
    spec: Json = obj.get("spec") or {}
    found = [node_ports.key_of(port["nodePort"]) for port in spec.get("ports") or () if port.get("nodePort")]
    address = spec.get("clusterIP")
    if address and address != "None":
        found.append(cluster_ip.key_of(address))
    return tuple(dict.fromkeys(found))


def _give_up(attempt: Attempt, before: Iterable[Key], after: Iterable[Key]) -> None:
    kept = set(after)
    for key in before:
        if key not in kept:
            claims.give_up(attempt, key)


# What was handed out stays, and goes with the type that had a use for it


def _keep(new: Json, old: Json) -> None:
    kind, was = new.get("type"), old.get("type")
    if kind == "ExternalName":
        if was != "ExternalName" and new.get("clusterIP") in (None, "", old.get("clusterIP")):
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if new.get(field) in (None, "", old.get(field)):
                    new.pop(field, None)
    elif was != "ExternalName" and old.get("clusterIP") and not new.get("clusterIP"):
        new["clusterIP"], new["clusterIPs"] = old["clusterIP"], list(old.get("clusterIPs") or ())
    if was in node_ports.OUTSIDE and kind in node_ports.OUTSIDE:
        _keep_ports(new, old)
    elif was in node_ports.OUTSIDE:
        _drop_ports(new, old)


def _keep_ports(new: Json, old: Json) -> None:
    known = {port.get("name") or "": port.get("nodePort") for port in old.get("ports") or ()}
    named = {port.get("nodePort") for port in new.get("ports") or ()}
    for port in new.get("ports") or ():
        number = known.get(port.get("name") or "")
        if not port.get("nodePort") and number and number not in named:
            port["nodePort"] = number


def _drop_ports(new: Json, old: Json) -> None:
    known = {port.get("nodePort") for port in old.get("ports") or ()}
    for port in new.get("ports") or ():
        if port.get("nodePort") in known:
            port.pop("nodePort", None)
    for field in ("externalTrafficPolicy", "allocateLoadBalancerNodePorts"):
        if new.get(field) == old.get(field) and not (
            field == "externalTrafficPolicy" and new.get("externalIPs")
        ):
            new.pop(field, None)


_VERBS = frozenset({"create", "update", "patch", "delete"})
STEP = AdmissionStep(
    "ServiceAddress",
    _admit,
    _VERBS,
    frozenset({service.KIND.resource}),
    does="an address and node ports that no other Service has; gives them back",
)
