"""What a run says of itself to its expressions and templates. Used by the controller, by the API and by dry runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.runbooks.filling import fill_text
from fairlead.model.runbooks.measures import DecisionsRead, MetricRead
from fairlead.model.runbooks.procedure import ALL, Procedure, Read
from fairlead.model.runbooks.values import read_values

Answers = Mapping[str, Mapping[str, str]]  # by step, then by field


def facts_of(name: str, namespace: str, user: str, started_at: str = "") -> Json:
    return {"name": name, "namespace": namespace, "user": user, "startedAt": started_at}


def answered(procedure: Procedure, answers: Answers) -> dict[str, dict[str, Any]]:
    """The answers as values, by step and field."""
    return {
        step.name: read_values(step.given.get("fields") or (), answers[step.name])
        for step in procedure.steps
        if step.action == "ask" and step.name in answers
    }


def places_of(
    facts: Json, params: Mapping[str, Any], answers: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """What each `${name}` stands for."""
    found: dict[str, Any] = {f"run.{name}": facts[name] for name in ("name", "namespace", "user")}
    found.update(params)
    for step, values in answers.items():
        found.update({f"{step}.{name}": value for name, value in values.items()})
    return found


def where_of(read: Read, places: Mapping[str, Any]) -> tuple[str, str, dict[str, str]]:
    """Namespace ("" for all and for kinds without one), name, and labels of what a variable reads."""
    namespace = ""
    if read.kind.namespaced and read.namespace != ALL:
        namespace = fill_text(read.namespace, places) or str(places["run.namespace"])
    labels = {key: fill_text(value, places) for key, value in (read.labels or {}).items()}
    return namespace, fill_text(read.object_name, places), labels


def decided_about(read: DecisionsRead, places: Mapping[str, Any]) -> Key:
    """The object whose decisions a variable tells of."""
    namespace = ""
    if read.kind.namespaced:
        namespace = fill_text(read.namespace, places) or str(places["run.namespace"])
    return Key(read.kind.resource, namespace, fill_text(read.object_name, places))


def labels_of(read: MetricRead, places: Mapping[str, Any]) -> dict[str, str]:
    return {name: fill_text(value, places) for name, value in read.labels.items()}


def fields_asked(procedure: Procedure, step: str) -> Sequence[Json]:
    found = procedure.step(step)
    return found.given.get("fields") or () if found is not None and found.action == "ask" else ()
