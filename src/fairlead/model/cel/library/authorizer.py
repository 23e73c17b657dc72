"""Kubernetes' `authorizer`: may this user do that? Who brings the variable brings who answers (`Ask`).

A check is the dearest thing that an expression can do, as it is in Kubernetes: a few dozen are enough for anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.library.function import Library
from fairlead.model.cel.values import Opaque, Spend, no_overload

LIBRARY = Library()
CHECK_COST = 3_000


@dataclass(frozen=True, slots=True)
class AccessQuestion:
    """What is asked: about a resource, or about a path."""

    user: str = ""  # of a service account, where it is not the user of the request
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    verb: str = ""


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    allowed: bool
    reason: str


Ask = Callable[[AccessQuestion], AccessAnswer]


@dataclass(frozen=True, slots=True)
class AuthorizerValue(Opaque):
    ask: Ask
    request: AccessQuestion
    question: AccessQuestion = AccessQuestion()
    stage: str = "Authorizer"  # Authorizer, PathCheck, GroupCheck, ResourceCheck

    def has(self, name: str) -> bool:
        return name == "requestResource" and self.stage == "Authorizer"

    def value_of(self, name: str, spend: Spend) -> Any:
        if self.has(name):
            return replace(self, stage="ResourceCheck", question=self.request)
        raise EvaluationError(f"no such key: {name}")


@dataclass(frozen=True, slots=True)
class AuthorizerDecision(Opaque):
    answer: AccessAnswer


def _stage(name: str, value: Any, stage: str, *arguments: Any) -> AuthorizerValue:
    if not isinstance(value, AuthorizerValue) or value.stage != stage:
        raise no_overload(name, value, *arguments)
    for each in arguments:
        if type(each) is not str:
            raise no_overload(name, value, *arguments)
    return value


def _next(value: AuthorizerValue, stage: str, **asked: str) -> AuthorizerValue:
    return replace(value, stage=stage, question=replace(value.question, **asked))


def _account(spend: Spend, value: Any, namespace: Any, name: Any) -> AuthorizerValue:
    found = _stage("serviceAccount", value, "Authorizer", namespace, name)
    return _next(found, "Authorizer", user=f"system:serviceaccount:{namespace}:{name}")


def _path(spend: Spend, value: Any, path: Any) -> AuthorizerValue:
    return _next(_stage("path", value, "Authorizer", path), "PathCheck", path=path)


def _group(spend: Spend, value: Any, group: Any) -> AuthorizerValue:
    return _next(_stage("group", value, "Authorizer", group), "GroupCheck", group=group)


def _resource(spend: Spend, value: Any, resource: Any) -> AuthorizerValue:
    return _next(_stage("resource", value, "GroupCheck", resource), "ResourceCheck", resource=resource)


def _subresource(spend: Spend, value: Any, name: Any) -> AuthorizerValue:
    return _next(_stage("subresource", value, "ResourceCheck", name), "ResourceCheck", subresource=name)


def _namespace(spend: Spend, value: Any, name: Any) -> AuthorizerValue:
    return _next(_stage("namespace", value, "ResourceCheck", name), "ResourceCheck", namespace=name)


def _name(spend: Spend, value: Any, name: Any) -> AuthorizerValue:
    return _next(_stage("name", value, "ResourceCheck", name), "ResourceCheck", name=name)


def _check(spend: Spend, value: Any, verb: Any) -> AuthorizerDecision:
    if (
        not isinstance(value, AuthorizerValue)
        or value.stage not in ("PathCheck", "ResourceCheck")
        or type(verb) is not str
    ):
        raise no_overload("check", value, verb)
    spend(CHECK_COST)
    return AuthorizerDecision(value.ask(replace(value.question, verb=verb)))


def _decision(name: str, value: Any) -> AccessAnswer:
    if not isinstance(value, AuthorizerDecision):
        raise no_overload(name, value)
    return value.answer


LIBRARY.method("serviceAccount", 2, _account, "dyn")
LIBRARY.method("path", 1, _path, "dyn")
LIBRARY.method("group", 1, _group, "dyn")
LIBRARY.method("resource", 1, _resource, "dyn")
LIBRARY.method("subresource", 1, _subresource, "dyn")
LIBRARY.method("namespace", 1, _namespace, "dyn")
LIBRARY.method("name", 1, _name, "dyn")
LIBRARY.method("check", 1, _check, "dyn")
LIBRARY.method("allowed", 0, lambda spend, value: _decision("allowed", value).allowed, "bool")
LIBRARY.method("reason", 0, lambda spend, value: _decision("reason", value).reason, "string")
LIBRARY.method("errored", 0, lambda spend, value: _decision("errored", value) is None, "bool")
LIBRARY.method("error", 0, lambda spend, value: _decision("error", value) and "", "string")
