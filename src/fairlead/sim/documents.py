"""A scenario as a document of plain values, and back: what artifacts and scenario files are made of.

Everything that a run needs is in it but code: controllers of a world's own are named by where they are imported from. A
step of people is written with its body as an object where it is JSON. `scenario_document` leaves out what is as usual.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import msgspec

from fairlead.agent.contract import NodeSettings
from fairlead.agent.pace import Pace
from fairlead.control.leadership import LeadershipSettings
from fairlead.core import codec
from fairlead.core.errors import UsageError
from fairlead.model.key import Key
from fairlead.port.capabilities import Capabilities
from fairlead.port.request import JSON, Request
from fairlead.sim.faults import Faults, NodeFaults
from fairlead.sim.scenario import DiskMishap, Mishap, Scenario, ScenarioStep

Json = dict[str, Any]

# Fields that are records, or tuples of records.
_RECORDS: dict[str, Any] = {
    "nodes": tuple[NodeSettings, ...],
    "pace": Pace,
    "leadership": LeadershipSettings,
    "mishaps": tuple[Mishap, ...],
    "disk_mishaps": tuple[DiskMishap, ...],
    "capabilities": Capabilities,
    "unlisted": tuple[tuple[str, float], ...],
    "without_deadlines": tuple[str, ...],
}
_STEPS, _CODE = ("steps", "standing"), ("controllers", "deciders")


def scenario_document(scenario: Scenario) -> Json:
    document: Json = {}
    for each in fields(scenario):
        value = getattr(scenario, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if value == default:
            continue
        if each.name in _STEPS:
            document[each.name] = [step_document(step) for step in value]
        elif each.name == "controllers":
            document[each.name] = [path_of(made) for made in value]
        elif each.name == "deciders":
            document[each.name] = path_of(value)
        else:
            document[each.name] = msgspec.to_builtins(value)
    return document


def scenario_of(document: Json) -> Scenario:
    known = {each.name for each in fields(Scenario)}
    if unknown := sorted(document.keys() - known):
        raise UsageError(f'a scenario has no field "{unknown[0]}"; it has: {", ".join(sorted(known))}')
    given: Json = {}
    for name, value in document.items():
        if name in _STEPS:
            given[name] = tuple(step_of(each) for each in value)
        elif name == "controllers":
            given[name] = tuple(code_at(path) for path in value)
        elif name == "deciders":
            given[name] = code_at(value)
        elif name in _RECORDS:
            given[name] = _converted(value, _RECORDS[name], name)
        else:
            given[name] = value
    try:
        return Scenario(**given)
    except TypeError as error:
        raise UsageError(f"a scenario is not complete: {error}") from None


def faults_document(faults: Faults) -> Json:
    return {"kind": type(faults).__name__, **msgspec.to_builtins(faults)}


def faults_of(document: Json) -> Faults:
    rest = {name: value for name, value in document.items() if name != "kind"}
    wanted: type[Faults] = NodeFaults if document.get("kind") == NodeFaults.__name__ else Faults
    faults: Faults = _converted(rest, wanted, "faults")
    return faults


def step_document(step: ScenarioStep) -> Json:
    request = step.request
    document: Json = {"at": step.at_seconds}
    for name in ("verb", "group", "version", "plural", "namespace", "name", "subresource"):
        if getattr(request, name):
            document[name] = getattr(request, name)
    if request.query:
        document["query"] = dict(request.query)
    if request.content_type != JSON:
        document["content_type"] = request.content_type
    if request.body:
        document["body"] = codec.decode(request.body)
    if step.owner is not None:
        document["owner"] = [step.owner.resource, step.owner.namespace, step.owner.name]
    if step != ScenarioStep(step.at_seconds, request, step.owner):
        document["more"] = {
            each.name: msgspec.to_builtins(getattr(step, each.name))
            for each in fields(step)
            if each.name not in ("at_seconds", "request", "owner")
        }
    return document


def step_of(document: Json) -> ScenarioStep:
    given = {name: value for name, value in document.items() if name not in ("at", "body", "owner", "more")}
    body = codec.encode(document["body"]) if "body" in document else b""
    owner = Key(*document["owner"]) if "owner" in document else None
    request = Request(**{"group": "", **given}, body=body)
    return ScenarioStep(document["at"], request, owner, **document.get("more", {}))


def path_of(code: Callable[..., Any]) -> str:
    """MODULE:NAME, by which it can be imported again."""
    path = f"{code.__module__}:{code.__qualname__}"
    if "<" in path:
        raise UsageError(f"{path} cannot be written down: only functions of a module can be found again")
    return path


def code_at(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UsageError(f'"{path}" cannot be loaded: {error}') from None
    code: Callable[..., Any] = found
    return code


def _converted(value: Any, wanted: Any, name: str) -> Any:
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {error}") from None
