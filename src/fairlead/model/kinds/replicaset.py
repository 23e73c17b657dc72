"""ReplicaSet (apps/v1): a number of pods made from one template.

Read by `model/catalog.py`. The rules for selectors and templates are shared and live in `workload.py`.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Json, Kind, Scale
from fairlead.model.kinds.workload import (
    check_counters,
    check_selection,
    check_selector,
    check_template,
    default_template,
    ensure_object,
    fill,
    keep_selector,
    part,
    replica_counts,
    show_status,
)
from fairlead.model.kinds.workload_columns import counter, template_columns

_STATUS_COUNTERS = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "terminatingReplicas",
    "observedGeneration",
)


def _default_status(obj: Json) -> None:
    show_status(obj, "replicas")


def _defaults(obj: Json) -> None:
    _default_status(obj)
    spec = ensure_object(obj, "spec")
    fill(spec, "replicas", 1)
    default_template(spec)


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    check_counters(spec, ("replicas", "minReadySeconds"), "spec", problems)
    # Kubernetes says "deployment" here too, and people search for that sentence.
    check_selector(spec, "deployment", "spec", problems)
    check_selection(spec, "spec", problems)
    check_template(spec, "ReplicaSet", "spec", problems)


KIND = Kind(
    group="apps",
    version="v1",
    kind="ReplicaSet",
    plural="replicasets",
    namespaced=True,
    schema="ReplicaSet",
    short_names=("rs",),
    categories=("all",),
    subresources=("status", "scale"),
    scale=Scale(("spec", "replicas"), ("status", "replicas"), ("spec", "selector")),
    columns=(
        counter("Desired", "spec", "replicas"),
        counter("Current", "status", "replicas"),
        counter("Ready", "status", "readyReplicas"),
        AGE,
        *template_columns(),
    ),
    selectable={"status.replicas": lambda obj: str(part(obj, "status").get("replicas") or 0)},
    defaults=_defaults,
    status_defaults=_default_status,
    validate=_validate,
    validate_update=keep_selector,
    validate_status=replica_counts(
        _STATUS_COUNTERS,
        ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
        "readyReplicas",
        collisions=False,
    ),
)
