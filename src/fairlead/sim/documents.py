"""A scenario as a document of plain values, and back: what artifacts and scenario files are made of.

Everything that a run needs is in it but code: controllers of a world's own are named by where they are imported from. A
step of people is written with its body as an object where it is JSON. `scenario_document` leaves out what is as usual.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import partial
from typing import Any, get_type_hints

import msgspec

from fairlead.core import codec
from fairlead.core.errors import UsageError
from fairlead.model.key import Key
from fairlead.port.request import JSON, Request
from fairlead.sim.faults import Faults, NodeFaults
from fairlead.sim.scenario import Scenario, ScenarioStep

Json = dict[str, Any]

_STEPS = ("steps", "standing")
_CODE = ("deciders", "compared")  # fields that are one function


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
            document[each.name] = [code_document(made) for made in value]
        elif each.name in _CODE:
            document[each.name] = code_document(value)
        else:
            document[each.name] = msgspec.to_builtins(value)
    return document


def scenario_of(document: Json) -> Scenario:
    known = {each.name for each in fields(Scenario)}
    if unknown := sorted(document.keys() - known):
        raise UsageError(f'a scenario has no field "{unknown[0]}"; it has: {", ".join(sorted(known))}')
    types, given = get_type_hints(Scenario), Json()
    for name, value in document.items():
        if name in _STEPS:
            given[name] = tuple(step_of(each) for each in _converted(value, list[Json], name))
        elif name == "controllers":
            given[name] = tuple(code_of(path) for path in _converted(value, list[str], name))
        elif name in _CODE:
            given[name] = code_of(_converted(value, str | Json, name))
        else:
            given[name] = _converted(value, types[name], name)
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
    try:
        owner = Key(*document["owner"]) if "owner" in document else None
        request = Request(**{"group": "", **given}, body=body)
        types = get_type_hints(ScenarioStep)
        more = {
            name: _converted(value, types[name], name) for name, value in document.get("more", {}).items()
        }
        return ScenarioStep(float(document["at"]), request, owner, **more)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"a step cannot be read ({type(error).__name__}: {error}): {document}") from None


def code_document(code: Callable[..., Any]) -> str | Json:
    """MODULE:NAME, by which it can be imported again; with what it was given, if it is a partial of one."""
    if isinstance(code, partial):
        return {"code": code_document(code.func), "given": [_given_document(each) for each in code.args]}
    path = f"{code.__module__}:{code.__qualname__}"
    if "<" in path:
        raise UsageError(f"{path} cannot be written down: only functions of a module can be found again")
    return path


def code_of(document: str | Json) -> Callable[..., Any]:
    if isinstance(document, dict):
        return partial(code_of(document["code"]), *map(_given_of, document["given"]))
    module, _, name = document.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f'"{document}" cannot be loaded: {error}') from None
    code: Callable[..., Any] = found
    return code


def _given_document(value: Any) -> Any:
    """Sets are of words or of keys."""
    if isinstance(value, frozenset):
        return {"set": [list(each) if isinstance(each, Key) else each for each in sorted(value)]}
    return value


def _given_of(document: Any) -> Any:
    if isinstance(document, dict):
        return frozenset(Key(*each) if isinstance(each, list) else each for each in document["set"])
    return document


def _converted(value: Any, wanted: Any, name: str) -> Any:
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {error}") from None
