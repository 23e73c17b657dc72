"""One metric of an autoscaler: its values as they are now, and how many replicas follow, for each type of metric.

Where the numbers come from: resources are what nodes tell of their pods (`usage.py`). A metric of pods or of an object
is the annotation `metrics.fairlead.dev/NAME` that somebody writes there; of an object also a number in its status, such
as `readyReplicas`. An external metric is a ConfigMap of the autoscaler's namespace with the label
`metrics.fairlead.dev/external: NAME`, whose `data.value` is the value; of several the sum counts. Called by
`decider.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import msgspec

from fairlead.core import codec
from fairlead.core.quantity import NANO, Quantity, from_json
from fairlead.decision.contract import Reading
from fairlead.ledger.pod_needs import requests_of
from fairlead.model.catalog import Catalog
from fairlead.model.kind import Json
from fairlead.model.pod_sums import exact
from fairlead.model.policy.plane_knobs import Numbers
from fairlead.model.selectors import from_object
from fairlead.model.views import Pod, TargetReference
from fairlead.reconcile.autoscaling.pace import Behavior
from fairlead.reconcile.autoscaling.replicas import (
    MeasuredValue,
    PodGroups,
    group_pods,
    is_near,
    rate_average,
    rate_utilization,
    replicas_of_pods,
)
from fairlead.reconcile.autoscaling.targets import (
    CONFIG_MAPS,
    ScaleTarget,
    UnknownTarget,
    find_object,
    status_of,
)
from fairlead.reconcile.autoscaling.usage import usage_of
from fairlead.reconcile.ownership import meta_of

METRIC = "metrics.fairlead.dev/"
EXTERNAL = f"{METRIC}external"
#: bound: plane | pods whose measured values a decision's record holds | the others are counted
RECORDED_MAX = 64
_MILLION = 10**6


class MeasuredMetric(NamedTuple):
    """`status` is for currentMetrics, `inputs` for the record, `name` as Kubernetes' messages call the metric."""

    replicas: int
    name: str
    status: Json
    inputs: Json


class Unmeasured(NamedTuple):
    reason: str
    message: str
    inputs: Json


class MeasuringMeans(NamedTuple):
    """What all metrics of an autoscaler are measured with."""

    view: Reading
    catalog: Catalog
    namespace: str
    target: ScaleTarget
    pods: Sequence[Pod]
    rules: Behavior
    knobs: Numbers
    now: float


def measure(metric: Json, means: MeasuringMeans) -> MeasuredMetric | Unmeasured:
    kind = metric.get("type") or ""
    try:
        return _TYPES[kind](metric, means)
    except (ValueError, UnknownTarget) as error:
        reason = f"FailedGet{kind}Metric"
        return Unmeasured(reason, str(error), {"type": kind, "trouble": str(error)})


# Resources


def _resource(metric: Json, means: MeasuringMeans) -> MeasuredMetric:
    source = metric["resource"]
    return _of_resource(metric, source, "", means)


def _container_resource(metric: Json, means: MeasuringMeans) -> MeasuredMetric:
    source = metric["containerResource"]
    return _of_resource(metric, source, source["container"], means)


def _of_resource(metric: Json, source: Json, container: str, means: MeasuringMeans) -> MeasuredMetric:
    resource, target = source["name"], source["target"]
    word = "container resource" if container else "resource"
    values = usage_of(means.view, means.pods, resource, container, means.now)
    groups = _grouped(values, resource == "cpu", means)
    percent = target.get("averageUtilization")
    current = means.target.replicas
    if percent is not None:
        requests = {
            pod.metadata.name: _requested(pod, resource, container)
            for pod in means.pods
            if pod.metadata.name not in groups.ignored
        }
        share = max(100, percent)
        wanted, found = replicas_of_pods(
            current, groups, values, rate_utilization(requests, percent),
            lambda name: requests[name] * share // 100, means.rules,
        )  # fmt: skip
        average = sum(values[name].milli for name in groups.ready) // len(groups.ready)
        told: Json = {"averageUtilization": found.current, "averageValue": _spelt(average, resource)}
        name = f"{resource} {word} utilization (percentage of request)"
    else:
        least = from_json(target["averageValue"]).milli()
        wanted, found = replicas_of_pods(
            current, groups, values, rate_average(least), lambda name: least, means.rules
        )
        told = {"averageValue": _spelt(found.current, resource)}
        name = f"{resource} {word}"
    part = "containerResource" if container else "resource"
    status: Json = {"name": resource, "current": told}
    if container:
        status["container"] = container
    inputs = _inputs(name, target, told, wanted, groups, values)
    return MeasuredMetric(wanted, name, {"type": metric["type"], part: status}, inputs)


def _requested(pod: Pod, resource: str, container: str) -> int:
    """In thousandths; ValueError, in Kubernetes' words, for a container that says nothing."""
    if resource in pod.spec.resources.requests and not container:
        return _up(requests_of(pod.spec)[resource])
    total = 0
    for each in pod.spec.containers:
        if container and each.name != container:
            continue
        if resource not in each.resources.requests:
            raise ValueError(
                f"missing request for {resource} in container {each.name} of Pod {pod.metadata.name}"
            )
        total += exact(each.resources.requests)[resource]
    if container and not total:
        raise ValueError(f"container {container} not present in metrics for pod {pod.metadata.name}")
    return _up(total)


# Metrics that others write


def _of_pods(metric: Json, means: MeasuringMeans) -> MeasuredMetric:
    source = metric["pods"]
    name, target = source["metric"]["name"], source["target"]
    values: dict[str, MeasuredValue] = {}
    for pod in means.pods:
        amount = _written(pod.metadata.annotations, name)
        if amount is not None:
            values[pod.metadata.name] = MeasuredValue(amount, means.now)
    groups = _grouped(values, False, means)
    least = from_json(target["averageValue"]).milli()
    wanted, found = replicas_of_pods(
        means.target.replicas, groups, values, rate_average(least), lambda name: least, means.rules
    )
    told: Json = {"averageValue": _spelt(found.current)}
    called = f"pods metric {name}"
    status = {"type": "Pods", "pods": {"metric": source["metric"], "current": told}}
    return MeasuredMetric(wanted, called, status, _inputs(called, target, told, wanted, groups, values))


def _of_object(metric: Json, means: MeasuringMeans) -> MeasuredMetric:
    source = metric["object"]
    name, described = source["metric"]["name"], source["describedObject"]
    reference = msgspec.convert(described, TargetReference)
    _, found = find_object(means.view, means.catalog, reference, means.namespace)
    amount = _written(meta_of(found).annotations, name)
    if amount is None:
        told = status_of(found).get(name)
        if type(told) is not int:
            where = f"{reference.kind}/{reference.name}"
            raise ValueError(
                f"unable to get metric {name}: {where} has neither a number status.{name} nor the annotation"
                f" {METRIC}{name}"
            )
        amount = told * 1000
    called = f"{reference.kind} metric {name}"
    wanted, current = _of_total(amount, source["target"], means)
    status = {
        "type": "Object",
        "object": {"metric": source["metric"], "describedObject": described, "current": current},
    }
    inputs: Json = {"metric": called, "target": source["target"], "current": current, "replicas": wanted}
    return MeasuredMetric(wanted, called, status, inputs)


def _external(metric: Json, means: MeasuringMeans) -> MeasuredMetric:
    source = metric["external"]
    name, selector = source["metric"]["name"], source["metric"].get("selector")
    if means.catalog.of_resource(CONFIG_MAPS.name) is None:
        raise ValueError("there are no ConfigMaps here")
    by_name = from_object({"matchLabels": {EXTERNAL: name}})
    narrowed = from_object(selector) if selector else None
    amounts: dict[str, int] = {}
    for each in means.view.select(CONFIG_MAPS, means.namespace, by_name):
        if narrowed is not None and not narrowed.matches(each.metadata.labels):
            continue
        amounts[each.key.name] = _milli(str((codec.decode(each.data).get("data") or {}).get("value") or ""))
    if not amounts:
        raise ValueError(
            f"unable to get external metric {means.namespace}/{name}: no ConfigMap with the label {EXTERNAL}={name}"
        )
    wanted, current = _of_total(sum(amounts.values()), source["target"], means)
    called = f"external metric {name}"
    status = {"type": "External", "external": {"metric": source["metric"], "current": current}}
    inputs: Json = {"metric": called, "target": source["target"], "current": current, "replicas": wanted}
    return MeasuredMetric(wanted, called, status, inputs)


def _of_total(amount: int, target: Json, means: MeasuringMeans) -> tuple[int, Json]:
    """Of one number for all replicas: against the number that is wanted, or one for each replica."""
    current = means.target.replicas
    if target.get("averageValue") is not None:
        each = from_json(target["averageValue"]).milli()
        there = means.target.status_replicas or current
        wanted = current if is_near(Fraction(amount, each * there), means.rules) else -(-amount // each)
        return wanted, {"averageValue": _spelt(-(-amount // there))}
    share = Fraction(amount, from_json(target["value"]).milli())
    told: Json = {"value": _spelt(amount)}
    if is_near(share, means.rules):
        return current, told
    ready = sum(pod.ready and pod.live for pod in means.pods)
    return ceil(share * ready), told


_TYPES = {
    "Resource": _resource,
    "ContainerResource": _container_resource,
    "Pods": _of_pods,
    "Object": _of_object,
    "External": _external,
}


# Details


def _grouped(values: Mapping[str, MeasuredValue], is_cpu: bool, means: MeasuringMeans) -> PodGroups:
    if not means.pods:
        raise ValueError("no pods returned by selector while calculating replica count")
    return group_pods(means.pods, values, is_cpu, means.knobs, means.now)


def _written(annotations: Mapping[str, str], name: str) -> int | None:
    text = annotations.get(METRIC + name)
    return None if text is None else _milli(text)


def _milli(text: str) -> int:
    return from_json(text).milli()


def _up(nano: int) -> int:
    return -(-nano // _MILLION)


def _spelt(milli: int, resource: str = "") -> str:
    if resource == "memory":  # as Kubernetes: whole bytes
        return str(Quantity(milli // 1000 * NANO))
    return str(Quantity(milli * _MILLION))


def _inputs(
    name: str, target: Json, told: Json, wanted: int, groups: PodGroups, values: Mapping[str, MeasuredValue]
) -> Json:
    shown = list(groups.ready)[:RECORDED_MAX]
    found: Json = {
        "metric": name,
        "target": target,
        "current": told,
        "replicas": wanted,
        "pods": {each: _spelt(values[each].milli) for each in shown},
    }
    if len(groups.ready) > len(shown):
        found["podsLeftOut"] = len(groups.ready) - len(shown)
    for title, names in (("unready", groups.unready), ("missing", groups.missing)):
        if names:
            found[title] = len(names)
    return found
