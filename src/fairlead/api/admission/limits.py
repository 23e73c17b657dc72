"""LimitRange: default requests and limits for containers, and their bounds per container and pod."""

from __future__ import annotations

from fairlead.api.admission.step import Step
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.errors import Forbidden
from fairlead.core.quantity import compare, total
from fairlead.model.kind import Json
from fairlead.model.kinds.pod_resources import qos_class

RANGES = "limitranges"


def _admit(attempt: Attempt) -> None:
    entries = attempt.read.list(RANGES, attempt.key.namespace)
    if not entries or attempt.new is None:
        return
    spec: Json = attempt.new["spec"]
    containers: list[Json] = spec["containers"] + spec.get("initContainers", [])
    problems: list[str] = []
    for entry in entries:
        for limit in tree(entry)["spec"]["limits"]:
            if limit["type"] == "Container":
                for container in containers:
                    resources = container.setdefault("resources", {})
                    _apply_defaults(resources, limit)
                    _check(resources, limit, "Container", problems)
            elif limit["type"] == "Pod":
                _check(_sum(spec["containers"]), limit, "Pod", problems)
    # Requests decide the class, and defaults computed it before these were known.
    attempt.new.setdefault("status", {})["qosClass"] = qos_class(spec)
    if problems:
        raise Forbidden(
            f'pods "{attempt.key.name}" is forbidden: [{", ".join(problems)}]',
            kind="pods",
            name=attempt.key.name,
        )


def _apply_defaults(resources: Json, limit: Json) -> None:
    for field, source in (("limits", "default"), ("requests", "defaultRequest")):
        for name, quantity in limit.get(source, {}).items():
            resources.setdefault(field, {}).setdefault(name, quantity)


def _sum(containers: list[Json]) -> Json:
    """Requests and limits of a whole pod; a name is summed only where every container states it."""
    summed: Json = {}
    for field in ("requests", "limits"):
        stated = [container.get("resources", {}).get(field, {}) for container in containers]
        names = set(stated[0]).intersection(*stated[1:]) if stated else set()
        summed[field] = {name: total(each[name] for each in stated) for name in sorted(names)}
    return summed


def _check(resources: Json, limit: Json, scope: str, problems: list[str]) -> None:
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name, least in limit.get("min", {}).items():
        asked = requests.get(name, limits.get(name))
        if asked is None:
            problems.append(f"minimum {name} usage per {scope} is {least}. No request is specified")
        elif compare(asked, least) < 0:
            problems.append(f"minimum {name} usage per {scope} is {least}, but request is {asked}")
    for name, most in limit.get("max", {}).items():
        allowed = limits.get(name)
        if allowed is None:
            problems.append(f"maximum {name} usage per {scope} is {most}. No limit is specified")
        elif compare(allowed, most) > 0:
            problems.append(f"maximum {name} usage per {scope} is {most}, but limit is {allowed}")


STEP = Step("LimitRanger", _admit, frozenset({"create"}), frozenset({"pods"}))
