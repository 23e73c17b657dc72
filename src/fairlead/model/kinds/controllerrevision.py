"""ControllerRevision (apps/v1): what a StatefulSet or DaemonSet looked like once, kept to go back to.

Read by `model/catalog.py`; made by `reconcile/revisions.py`. `data` is a patch of the owner and never changes; the
number grows when what is kept becomes the newest again.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import NOT_NEGATIVE, part


def _validate(obj: Json, problems: Problems) -> None:
    if obj.get("data") is None:
        problems.required("data", "data is mandatory")
    revision = obj.get("revision") or 0
    if revision < 0:
        problems.invalid("revision", revision, NOT_NEGATIVE)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    if new.get("data") != old.get("data"):
        problems.invalid("data", new.get("data"), "field is immutable")


def _controller(obj: Json, now: float) -> Cell:
    for owner in part(obj, "metadata").get("ownerReferences") or ():
        if owner.get("controller"):
            group = str(owner.get("apiVersion") or "").rpartition("/")[0]
            return f"{owner.get('kind', '').lower()}{'.' if group else ''}{group}/{owner.get('name', '')}"
    return "<none>"


KIND = Kind(
    group="apps",
    version="v1",
    kind="ControllerRevision",
    plural="controllerrevisions",
    namespaced=True,
    schema="ControllerRevision",
    generation=False,
    columns=(
        Column("Controller", _controller, description="Controller of the object."),
        Column(
            "Revision",
            lambda obj, now: obj.get("revision") or 0,
            description="Number of the state represented by data.",
        ),
        AGE,
    ),
    validate=_validate,
    validate_update=_validate_update,
)
