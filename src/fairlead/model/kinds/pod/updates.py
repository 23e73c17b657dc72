"""What may change in a pod after it was created: little, since a pod is replaced rather than edited.

`kind.py` puts these into the descriptor. A bound node, for one, is written by the binding subresource and
never by an update. While scheduling gates hold a pod back, its node constraints may still be tightened.
"""

from __future__ import annotations

from typing import Any

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.addresses import NOT_AN_ADDRESS, is_address
from fairlead.model.names import name_problems

_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_LISTS = ("containers", "initContainers")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def validate_pod_update(new: Json, old: Json, problems: Problems) -> None:
    """Compare two versions of one pod's spec."""
    after: Json = new.get("spec") or {}
    before: Json = old.get("spec") or {}
    if after == before:
        return
    for field in _LISTS:
        if len(after.get(field) or ()) != len(before.get(field) or ()):
            problems.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
    _validate_deadline(after, before, problems)
    _validate_gates(after, before, problems)
    if after.get("tolerations") != before.get("tolerations"):
        _validate_tolerations(after, before, problems)
    changed = _changed_fields(after, before)
    if before.get("schedulingGates"):
        if "nodeSelector" in changed:
            changed.remove("nodeSelector")
            _validate_node_selector(after, before, problems)
        if "affinity" in changed and _only_node_affinity(after, before):
            changed.remove("affinity")
            _validate_node_affinity(after, before, problems)
    if changed:
        problems.forbidden(
            "spec", f"{_MAY_CHANGE}; changed: " + ", ".join(f"spec.{name}" for name in changed)
        )


def _changed_fields(after: Json, before: Json) -> list[str]:
    """Fields that differ, without those that may."""
    changed = []
    for field in sorted(after.keys() | before.keys()):
        one, other = after.get(field), before.get(field)
        if one == other or field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
            continue
        if field in _LISTS and _without_images(one) == _without_images(other):
            continue
        if field == "terminationGracePeriodSeconds" and one == 1 and (other or 0) < 0:
            continue
        changed.append(field)
    return changed


def _without_images(containers: list[Json] | None) -> list[Json]:
    return [{**container, "image": ""} for container in containers or ()]


def _validate_deadline(after: Json, before: Json, problems: Problems) -> None:
    field = "spec.activeDeadlineSeconds"
    new, old = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if old is None:
        return
    if new is None:
        problems.invalid(field, None, "must not update from a positive integer to nil value")
    elif new > old:
        problems.invalid(field, new, "must be less than or equal to previous value")


def _validate_gates(after: Json, before: Json, problems: Problems) -> None:
    known = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        if gate.get("name") not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            problems.forbidden(f"spec.schedulingGates[{index}]", text)


def _validate_tolerations(after: Json, before: Json, problems: Problems) -> None:
    """Every old toleration is still there, but for how long it tolerates."""
    kept = [_without_seconds(each) for each in after.get("tolerations") or ()]
    for toleration in before.get("tolerations") or ():
        if _without_seconds(toleration) not in kept:
            text = "existing toleration can not be modified except its tolerationSeconds"
            problems.forbidden("spec.tolerations", text)
            return


def _without_seconds(toleration: Json) -> Json:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _validate_node_selector(after: Json, before: Json, problems: Problems) -> None:
    wanted: Json = after.get("nodeSelector") or {}
    for key, value in (before.get("nodeSelector") or {}).items():
        if wanted.get(key) != value:
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            problems.invalid("spec.nodeSelector", wanted, text)
            return


def _only_node_affinity(after: Json, before: Json) -> bool:
    one, other = dict(after.get("affinity") or {}), dict(before.get("affinity") or {})
    one.pop("nodeAffinity", None)
    other.pop("nodeAffinity", None)
    return one == other


def _validate_node_affinity(after: Json, before: Json, problems: Problems) -> None:
    """Required terms may gain requirements but neither lose them nor become more terms."""
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    old, new = _node_terms(before), _node_terms(after)
    if not old:
        return
    if len(new) != len(old):
        problems.invalid(path, new, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for index, (one, other) in enumerate(zip(new, old, strict=True)):
        for field in ("matchExpressions", "matchFields"):
            kept = one.get(field) or []
            lost = any(requirement not in kept for requirement in other.get(field) or ())
            if lost or (kept and not (other.get("matchExpressions") or other.get("matchFields"))):
                text = "only additions are allowed (no mutations or deletions)"
                problems.invalid(f"{path}[{index}]", one, text)
                break


def _node_terms(spec: Json) -> list[Any]:
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return (node.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []


def validate_pod_status(new: Json, old: Json, problems: Problems) -> None:
    """A write of the status: containers do not rise from the dead, addresses are addresses."""
    after: Json = new.get("status") or {}
    before: Json = old.get("status") or {}
    if (new.get("spec") or {}).get("nodeName") != (old.get("spec") or {}).get("nodeName"):
        problems.forbidden("spec.nodeName", "may not be changed directly")
    nominated = after.get("nominatedNodeName")
    if nominated:
        for text in name_problems("subdomain", nominated):
            problems.invalid("status.nominatedNodeName", nominated, text)
    for index, entry in enumerate(after.get("podIPs") or ()):
        if not is_address(entry.get("ip") or ""):
            problems.invalid(f"status.podIPs[{index}]", entry.get("ip"), NOT_AN_ADDRESS)
    _validate_transitions(new.get("spec") or {}, after, before, problems)


def _validate_transitions(spec: Json, after: Json, before: Json, problems: Problems) -> None:
    """A container that has ended for good stays ended; sidecars and restart policies say what is for good."""
    policy = spec.get("restartPolicy")
    if policy == "Always":
        return
    sidecars = {each.get("name") for each in spec.get("initContainers") or () if each.get("restartPolicy")}
    for field in ("containerStatuses", "initContainerStatuses"):
        ended = set()
        for each in before.get(field) or ():
            terminated = (each.get("state") or {}).get("terminated")
            if terminated is not None and not (policy == "OnFailure" and terminated.get("exitCode")):
                ended.add(each.get("name"))
        ended -= sidecars
        for index, each in enumerate(after.get(field) or ()):
            if each.get("name") in ended and (each.get("state") or {}).get("terminated") is None:
                text = "may not be transitioned to non-terminated state"
                problems.forbidden(f"status.{field}[{index}].state", text)
