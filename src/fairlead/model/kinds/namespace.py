"""Namespace: a scope for names, quotas and permissions.

Its own finalizer lives in `spec.finalizers` and is taken away through the `finalize` subresource when
everything inside is gone; the namespace controller does that. The label with its name lets selectors find
it.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.metadata import metadata_warnings
from fairlead.model.names import label_key_problems

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"  # of spec.finalizers: the namespace waits until it is empty
_STANDARD_FINALIZERS = (FINALIZER, "orphan", "foregroundDeletion")


def _defaults(namespace: Json) -> None:
    metadata = namespace.setdefault("metadata", {})
    name = metadata.get("name")
    if name:
        labels = metadata.get("labels")
        if labels is None:
            labels = metadata["labels"] = {}
        labels[NAME_LABEL] = name
    status = namespace.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Active"


def _validate(namespace: Json, problems: Problems) -> None:
    for index, finalizer in enumerate((namespace.get("spec") or {}).get("finalizers") or ()):
        at = f"spec.finalizers[{index}]"
        for text in label_key_problems(finalizer):
            problems.invalid(at, finalizer, text)
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            problems.invalid(at, finalizer, text)


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    phase = _phase(new)
    if (new.get("metadata") or {}).get("deletionTimestamp"):
        if phase != "Terminating":
            text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            problems.invalid("status.phase", phase, text)
    elif phase != "Active":
        problems.invalid("status.phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")


def _phase(namespace: Json) -> str:
    return (namespace.get("status") or {}).get("phase") or ""


def _phase_cell(namespace: Json, now: float) -> Cell:
    return _phase(namespace)


KIND = Kind(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
    schema="Namespace",
    deletecollection=False,
    short_names=("ns",),
    subresources=("status", "finalize"),
    columns=(Column("Status", _phase_cell, description="Active, or Terminating while it empties."), AGE),
    generation=False,
    name_rule="label",
    finalizers_spec=(FINALIZER,),
    defaults=_defaults,
    validate=_validate,
    validate_status=_validate_status,
    selectable={"status.phase": _phase},
    warnings=metadata_warnings,
)
