"""The priority that a SchedulerOverride gives: what it is, and whether its target may use it. Asked by `steps.py`.

The value is stamped as the PriorityClass has it now, so that readers need no other object. Refused: a class that does
not exist, one of the plane's own outside kube-system, and more replicas than the quotas of that class leave room for in
the target's namespace: what nobody there could have by writing it into a pod, nobody has by an override.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import structs

from fairlead.api.admission.override.sight import readable
from fairlead.api.admission.priority import CLASSES
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.problems import Problems
from fairlead.core.quantity import NANO
from fairlead.ledger import resource_quota
from fairlead.ledger.pod_needs import Usage, exact
from fairlead.ledger.quota import find_exceeded
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds import scheduleroverride as kinds
from fairlead.model.kinds.priorityclass import HIGHEST_USER_VALUE
from fairlead.model.views import RESOURCE_QUOTAS, Meta, Pod, PodSpec, ResourceQuota, SchedulerOverride

_AT = "spec.changes.priorityClassName"
_PREEMPTS = "PreemptLowerPriority"
_quota = msgspec.json.Decoder(ResourceQuota).decode


def priority_for(attempt: Attempt, wanted: SchedulerOverride, problems: Problems) -> Json | None:
    """What is stamped; None: it gives none, or none that it may."""
    changes = wanted.spec.changes
    name = changes.priority_class_name
    if not name:
        return None
    entry = attempt.read.get(Key(CLASSES, "", name))
    if entry is None:
        known = sorted(each.key.name for each in readable(attempt, CLASSES))
        problems.not_found(_AT, name, f"there is no such PriorityClass; there are {', '.join(known[:5])}")
        return None
    found = tree(entry)
    value: int = found.get("value") or 0
    if value > HIGHEST_USER_VALUE and attempt.key.namespace != kinds.CLUSTER_NAMESPACE:
        told = f"is for the plane's own pods: name one of at most {HIGHEST_USER_VALUE}"
        problems.invalid(_AT, name, f"{told}, or make the override in {kinds.CLUSTER_NAMESPACE}")
        return None
    policy = changes.preemption_policy or found.get("preemptionPolicy") or _PREEMPTS
    return {"value": value, "preemptionPolicy": policy}


def check_quotas(
    attempt: Attempt,
    wanted: SchedulerOverride,
    beside: Iterable[SchedulerOverride],
    template: Json | None,
    problems: Problems,
) -> None:
    """`template`: that of the target, if it is one workload; `beside`: others that hold now."""
    changes, space = wanted.spec.changes, _namespace(wanted)
    name = changes.priority_class_name
    others = sum(
        each.spec.changes.priority_replicas
        for each in beside
        if each.spec.changes.priority_class_name == name and _namespace(each) == space
    )
    pod = _pod(template, name)
    needs = {
        key: value * (changes.priority_replicas + others) for key, value in _usage(pod, template).items()
    }
    for quota in _quotas_of_class(attempt, space, pod):
        used = exact(quota.status.used)
        exceeded = find_exceeded(quota.spec.hard, used, needs)
        if exceeded is not None:
            told = exceeded.describe(quota.metadata.name)
            also = f", {others} of them by other overrides" if others else ""
            what = f"{changes.priority_replicas + others} replicas of class {name}{also}"
            problems.forbidden(_AT, f"{what}: {told}; ask for fewer in spec.changes.priorityReplicas")


def _namespace(override: SchedulerOverride) -> str:
    sort, name = kinds.split(override.spec.target)
    return (name if sort == kinds.NAMESPACE else "") or override.metadata.namespace


def _pod(template: Json | None, class_name: str) -> Pod:
    spec = msgspec.convert((template or {}).get("spec") or {}, PodSpec)
    return Pod(Meta(name="", uid=""), spec=structs.replace(spec, priority_class_name=class_name))


def _usage(pod: Pod, template: Json | None) -> Usage:
    """Of pods of which nothing is known, only that they are pods."""
    return resource_quota.usage_of_pod(pod) if template is not None else {"pods": NANO, "count/pods": NANO}


def _quotas_of_class(attempt: Attempt, namespace: str, pod: Pod) -> Iterator[ResourceQuota]:
    """Those that are about pods of this class, and not about all."""
    for entry in readable(attempt, RESOURCE_QUOTAS.name, namespace):
        quota = _quota(entry.data)
        expressions = quota.spec.scope_selector.get("matchExpressions") or ()
        named = any(each.get("scopeName") == "PriorityClass" for each in expressions)
        if named and resource_quota.in_scope(quota.spec, pod):
            yield quota
