"""RuntimeClass (node.k8s.io/v1): a way to run pods, what it costs for each pod, and which nodes have it.

Read by `model/catalog.py`. Admission applies it to pods (`api/admission/runtime_class.py`): overhead, node selector and
tolerations become part of the pod. The handler never changes: pods rely on it.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Column, Json, Kind
from fairlead.model.kinds.amounts import spell_amounts, validate_amount
from fairlead.model.kinds.pod.placement import validate_tolerations
from fairlead.model.kinds.workload import part
from fairlead.model.metadata import validate_immutable, validate_labels
from fairlead.model.names import name_problems


def _defaults(obj: Json) -> None:
    spell_amounts(part(obj, "overhead").get("podFixed"))


def _validate(obj: Json, problems: Problems) -> None:
    handler = obj.get("handler") or ""
    if not handler:
        problems.required("handler")
    for text in name_problems("label", handler) if handler else ():
        problems.invalid("handler", handler, text)
    for name, quantity in (part(obj, "overhead").get("podFixed") or {}).items():
        validate_amount(quantity, f"overhead.podFixed[{name}]", problems)
    scheduling = part(obj, "scheduling")
    validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector", problems)
    validate_tolerations(scheduling.get("tolerations") or [], "scheduling.tolerations", problems)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    validate_immutable(new.get("handler"), old.get("handler"), "handler", problems)


KIND = Kind(
    group="node.k8s.io",
    version="v1",
    kind="RuntimeClass",
    plural="runtimeclasses",
    namespaced=False,
    schema="RuntimeClass",
    generation=False,
    columns=(Column("Handler", lambda obj, now: obj.get("handler") or ""), AGE),
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
)
