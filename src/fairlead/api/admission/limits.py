"""LimitRange: default requests and limits for containers, and their bounds per container and pod."""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.errors import lifted_by
from fairlead.core.quantity import compare, parse, total
from fairlead.model.kind import Json
from fairlead.model.kinds.pod.resources import qos_class

RANGES = "limitranges"


def _admit(attempt: Attempt) -> None:
    entries = attempt.read.list(RANGES, attempt.key.namespace)
    if not entries or attempt.new is None:
        return
    spec: Json = attempt.new["spec"]
    limits = [limit for entry in entries for limit in (tree(entry).get("spec") or {}).get("limits") or ()]
    containers: list[Json] = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    # All defaults first: what one range leaves open another may fill in before the first looks at it.
    for limit in limits:
        if limit["type"] == "Container":
            for container in containers:
                _apply_defaults(container.setdefault("resources", {}), limit)
    attempt.new.setdefault("status", {})["qosClass"] = qos_class(spec)
    problems: list[str] = []
    for limit in limits:
        if limit["type"] == "Container":
            for container in containers:
                _check(container["resources"], limit, "Container", problems)
        elif limit["type"] == "Pod":
            _check(_sum(spec), limit, "Pod", problems)
    if problems:
        lifting = (lifted_by(*entry.key, "change spec.limits") for entry in entries)
        raise attempt.forbidden(f"[{', '.join(problems)}]", *lifting)


def _apply_defaults(resources: Json, limit: Json) -> None:
    for field, source in (("limits", "default"), ("requests", "defaultRequest")):
        for name, quantity in limit.get(source, {}).items():
            resources.setdefault(field, {}).setdefault(name, quantity)


def _sum(spec: Json) -> Json:
    """Requests and limits of a whole pod. A name is summed only where every container states it; one container
    that runs first and alone may need more than all that run together."""
    summed: Json = {}
    for field in ("requests", "limits"):
        stated, first = (
            [container.get("resources", {}).get(field, {}) for container in spec.get(group) or ()]
            for group in ("containers", "initContainers")
        )
        names = set(stated[0]).intersection(*stated[1:]) if stated else set()
        needed = summed[field] = {name: total(each[name] for each in stated) for name in sorted(names)}
        for each in first:
            for name, quantity in each.items():
                if name not in needed or compare(quantity, needed[name]) > 0:
                    needed[name] = quantity
    return summed


def _check(resources: Json, limit: Json, scope: str, problems: list[str]) -> None:
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name, least in limit.get("min", {}).items():
        _check_bound("minimum", name, least, scope, (("request", requests), ("limit", limits)), problems)
    for name, most in limit.get("max", {}).items():
        _check_bound("maximum", name, most, scope, (("limit", limits), ("request", requests)), problems)
    for name, ratio in limit.get("maxLimitRequestRatio", {}).items():
        _check_ratio(name, ratio, scope, requests.get(name), limits.get(name), problems)


def _check_bound(
    bound: str, name: str, edge: str, scope: str, stated: tuple[tuple[str, Json], ...], problems: list[str]
) -> None:
    """The first of `stated` has to be there; whatever is there has to be within the bound."""
    rule = f"{bound} {name} usage per {scope} is {edge}"
    what, amounts = stated[0]
    if name not in amounts:
        problems.append(f"{rule}.  No {what} is specified")
    beyond = -1 if bound == "minimum" else 1
    for what, amounts in stated:
        if name in amounts and compare(amounts[name], edge) == beyond:
            problems.append(f"{rule}, but {what} is {amounts[name]}")
            return


def _check_ratio(
    name: str, ratio: str, scope: str, request: str | None, limit: str | None, problems: list[str]
) -> None:
    rule = f"{name} max limit to request ratio per {scope} is {ratio}"
    if request is None or parse(request).nano == 0:
        problems.append(f"{rule}, but no request is specified or request is 0")
    elif limit is None or parse(limit).nano == 0:
        problems.append(f"{rule}, but no limit is specified or limit is 0")
    elif parse(limit).nano * parse("1").nano > parse(ratio).nano * parse(request).nano:
        problems.append(f"{rule}, but provided ratio is {parse(limit).nano / parse(request).nano:f}")


STEP = AdmissionStep(
    "LimitRanger",
    _admit,
    frozenset({"create"}),
    frozenset({"pods"}),
    of_spec=(RANGES,),
    does="default requests and limits, and bounds",
)
