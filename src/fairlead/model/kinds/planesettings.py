"""PlaneSettings (fairlead.dev/v1): how the control plane works. One object for the whole plane, named `default`.

Read by `model/catalog.py`. Without it everything is as built in; a field that is absent is as built in too, so
there are no defaults to fill in and an upgrade may improve them. The knobs are in `model/policy/plane_knobs.py`. Planes
take a change up from their mirror while they run (`control/plane.py`).
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.policy import plane_knobs


def _validate(obj: Json, problems: Problems) -> None:
    name = part(obj, "metadata").get("name")
    if name != plane_knobs.NAME:
        problems.invalid(
            "metadata.name", name, f"the plane has one PlaneSettings, named {plane_knobs.NAME!r}"
        )
    plane_knobs.check(part(obj, "spec"), problems)
    refusal = part(part(obj, "spec"), "admission").get("refuseNewWork")
    if refusal is not None:
        path = "spec.admission.refuseNewWork"
        if not str(refusal.get("reason") or "").strip():
            problems.required(f"{path}.reason", "say why, in a sentence: it is what a refusal says")
        if not refusal.get("until"):
            problems.required(f"{path}.until", "it has an end: say when")


def _applied(obj: Json, now: float) -> Cell:
    """Whether the leading plane works with the present spec."""
    status = part(obj, "status")
    if (status.get("observedGeneration") or 0) < (part(obj, "metadata").get("generation") or 0):
        return "Unknown"
    found = (each.get("status") for each in status.get("conditions") or () if each.get("type") == "Applied")
    return next(found, None) or "Unknown"


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="PlaneSettings",
    plural="planesettings",
    singular="planesetting",
    namespaced=False,
    schema="PlaneSettings",
    subresources=("status",),
    columns=(Column("Applied", _applied, description="Whether the plane works with them."), AGE),
    validate=_validate,
)
