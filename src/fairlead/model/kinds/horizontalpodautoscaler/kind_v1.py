"""HorizontalPodAutoscaler (autoscaling/v1): the older version, which follows the use of CPU alone.

Read by `model/catalog.py`. Objects are stored in version 2 (`kind.py`), whose rules they go by; `versions.py` takes
them from one to the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from fairlead.core.errors import Cause
from fairlead.core.problems import Problems
from fairlead.model.kind import Cell, Column, Conversion, Json
from fairlead.model.kinds.horizontalpodautoscaler.annotations import CONDITIONS, CURRENT_METRICS
from fairlead.model.kinds.horizontalpodautoscaler.kind import KIND as SECOND
from fairlead.model.kinds.horizontalpodautoscaler.versions import V1, V2, as_v1, as_v2, cpu_place
from fairlead.model.kinds.workload import fill, part

_STORED = b'{"apiVersion":"%b",' % V2.encode()
_CPU = "spec.targetCPUUtilizationPercentage"
_tree = msgspec.json.Decoder(dict[str, Any]).decode


def _presented(data: bytes) -> bytes:
    return msgspec.json.encode(as_v1(_tree(data))) if data.startswith(_STORED) else data


def _defaults(obj: Json) -> None:
    """What version 2 would add: which metric is the default depends on those in the annotations."""
    whole = as_v2(obj)
    SECOND.defaults(whole)
    shown = as_v1(whole)
    for name in ("metadata", "spec", "status"):
        obj[name] = shown[name]
    fill(obj["status"], "currentReplicas", 0)


def _validate(obj: Json, problems: Problems) -> None:
    whole, found = as_v2(obj), Problems()
    SECOND.validate(whole, found)
    place = cpu_place(part(whole, "spec").get("metrics") or [])
    problems.extend(_named(cause, f"spec.metrics[{place}]") for cause in found.causes)


def _named(cause: Cause, of_cpu: str) -> Cause:
    """Under the name of the field that was sent."""
    return Cause(cause.reason, cause.message, _CPU) if cause.field.startswith(f"{of_cpu}.") else cause


def _through_v2(column: Column) -> Column:
    def cell(obj: Json, now: float) -> Cell:
        return column.cell(as_v2(obj), now)

    return replace(column, cell=cell)


KIND = replace(
    SECOND,
    version=V1.partition("/")[2],
    schema="HorizontalPodAutoscalerV1",
    columns=tuple(_through_v2(each) if each.name == "Targets" else each for each in SECOND.columns),
    defaults=_defaults,
    validate=_validate,
    presented=_presented,
    stored_version=SECOND.version,
    conversions=(Conversion(V2, SECOND.schema, as_v2, as_v1),),
    status_annotations=(CURRENT_METRICS, CONDITIONS),
)
