"""The expressions of a policy, compiled: when it is written, to refuse what is wrong, and when a server learns of it.

Used by `policies.py` for validation and by `api/admission/policies/` for the programs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.core.problems import Problems
from fairlead.model.cel.errors import ExpressionError
from fairlead.model.cel.program import PATCHES, Program, compile_expression
from fairlead.model.cel.static import DYN, Fields, StaticType
from fairlead.model.kind import Json
from fairlead.model.names import label_key_problems

_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_BOOL, _STRING, _TEXT = frozenset({"bool"}), frozenset({"string"}), frozenset({"string", "null_type"})
_OBJECT, _LIST = frozenset({"Object"}), frozenset({"list"})
_REQUEST = Fields(
    dict.fromkeys(
        (
            "kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource", "name",
            "namespace", "operation", "userInfo", "dryRun", "options", "uid",
        ),
        DYN,
    )
)  # fmt: skip
_BASE: Mapping[str, StaticType] = dict.fromkeys(("object", "oldObject"), DYN) | {"request": _REQUEST}
#: bound: policies | match conditions of a policy | 422
CONDITIONS_MAX = 64
#: bound: policies | validations, mutations, variables or audit annotations of a policy, each | 422
EXPRESSIONS_MAX = 128
#: bound: policies | audit annotations of a policy | 422
ANNOTATIONS_MAX = 20
AUTHORIZER = "authorizer"


class Validation(NamedTuple):
    program: Program
    message: str
    message_program: Program | None
    reason: str


class Mutation(NamedTuple):
    program: Program
    is_patch: bool


class Compiled(NamedTuple):
    """All expressions of one policy."""

    conditions: tuple[Program, ...]
    variables: Mapping[str, Program]
    validations: tuple[Validation, ...]
    mutations: tuple[Mutation, ...]
    annotations: tuple[tuple[str, Program], ...]


def compile_policy(spec: Json, problems: Problems) -> Compiled:
    """What cannot be compiled is told, and left out."""
    return _Compiling(spec, problems).all()


def find_errors(spec: Json, types: Mapping[str, StaticType]) -> list[tuple[str, str, ExpressionError]]:
    """Path, text and what is wrong, of every expression that does not fit these types of what it refers to."""
    compiling = _Compiling(spec, Problems(), types)
    compiling.all()
    return compiling.errors


class _Compiling:
    def __init__(self, spec: Json, problems: Problems, types: Mapping[str, StaticType] | None = None) -> None:
        self._spec = spec
        self._problems = problems
        self.errors: list[tuple[str, str, ExpressionError]] = []
        params: Mapping[str, StaticType] = {"params": DYN} if spec.get("paramKind") else {}
        self._early = {**_BASE, **params, AUTHORIZER: DYN, **(types or {})}
        self._known: dict[str, StaticType] = {}
        self._scope = {**self._early, "namespaceObject": DYN, "variables": Fields(self._known)}

    def all(self) -> Compiled:
        conditions = self._conditions()
        variables = self._variables()
        return Compiled(conditions, variables, self._validations(), self._mutations(), self._annotations())

    def _list(self, name: str, most: int) -> list[Json]:
        found: list[Json] = self._spec.get(name) or []
        if len(found) > most:
            self._problems.too_many(f"spec.{name}", len(found), most)
        return found[:most]

    def _one(
        self,
        text: str,
        path: str,
        scope: Mapping[str, StaticType],
        returns: frozenset[str],
        structs: frozenset[str] = frozenset(),
    ) -> Program | None:
        if not text.strip():
            self._problems.required(path, "an expression in CEL")
            return None
        try:
            return compile_expression(text, scope, returns, structs)
        except ExpressionError as error:
            self.errors.append((path, text, error))
            self._problems.invalid(path, text, f"compilation failed: {error}")
            return None

    def _conditions(self) -> tuple[Program, ...]:
        found: list[Program] = []
        names: set[str] = set()
        for index, each in enumerate(self._list("matchConditions", CONDITIONS_MAX)):
            at = f"spec.matchConditions[{index}]"
            self._check_name(each.get("name") or "", f"{at}.name", names, label_key_problems)
            program = self._one(each.get("expression") or "", f"{at}.expression", self._early, _BOOL)
            if program is not None:
                found.append(program)
        return tuple(found)

    def _check_name(self, name: str, path: str, names: set[str], judge: Any) -> None:
        if not name:
            self._problems.required(path)
        elif name in names:
            self._problems.duplicate(path, name)
        else:
            for text in judge(name):
                self._problems.invalid(path, name, text)
        names.add(name)

    def _variables(self) -> dict[str, Program]:
        found: dict[str, Program] = {}
        names: set[str] = set()
        for index, each in enumerate(self._list("variables", EXPRESSIONS_MAX)):
            at, name = f"spec.variables[{index}]", each.get("name") or ""
            self._check_name(name, f"{at}.name", names, _identifier_problems)
            program = self._one(
                each.get("expression") or "", f"{at}.expression", self._scope, frozenset(), PATCHES
            )
            # One that is wrong is known all the same: that others use it is no second mistake.
            self._known[name] = program.returns if program is not None else DYN
            if program is not None:
                found[name] = program
        return found

    def _validations(self) -> tuple[Validation, ...]:
        found: list[Validation] = []
        for index, each in enumerate(self._list("validations", EXPRESSIONS_MAX)):
            at = f"spec.validations[{index}]"
            text, message = each.get("expression") or "", each.get("message") or ""
            if "\n" in message:
                self._problems.invalid(f"{at}.message", message, "message must not contain line breaks")
            if "\n" in text.strip() and not message.strip():
                self._problems.required(
                    f"{at}.message", "message must be specified if expression contains line breaks"
                )
            program = self._one(text, f"{at}.expression", self._scope, _BOOL)
            told = None
            if each.get("messageExpression"):
                scope = {name: known for name, known in self._scope.items() if name != AUTHORIZER}
                told = self._one(each["messageExpression"], f"{at}.messageExpression", scope, _STRING)
            reason = each.get("reason") or ""
            if reason and reason not in REASONS:
                self._problems.unsupported(f"{at}.reason", reason, REASONS)
            if program is not None:
                found.append(Validation(program, message.strip(), told, reason or "Invalid"))
        return tuple(found)

    def _mutations(self) -> tuple[Mutation, ...]:
        found: list[Mutation] = []
        for index, each in enumerate(self._list("mutations", EXPRESSIONS_MAX)):
            at = f"spec.mutations[{index}]"
            is_patch = each.get("patchType") == "JSONPatch"
            field, other = (
                ("jsonPatch", "applyConfiguration") if is_patch else ("applyConfiguration", "jsonPatch")
            )
            if each.get(other):
                self._problems.forbidden(
                    f"{at}.{other}", f"patchType is {each.get('patchType')}: use {field}"
                )
            text = (each.get(field) or {}).get("expression") or ""
            returns = _LIST if is_patch else _OBJECT
            program = self._one(text, f"{at}.{field}.expression", self._scope, returns, PATCHES)
            if program is not None:
                found.append(Mutation(program, is_patch))
        return tuple(found)

    def _annotations(self) -> tuple[tuple[str, Program], ...]:
        found: list[tuple[str, Program]] = []
        keys: set[str] = set()
        for index, each in enumerate(self._list("auditAnnotations", ANNOTATIONS_MAX)):
            at, key = f"spec.auditAnnotations[{index}]", each.get("key") or ""
            self._check_name(key, f"{at}.key", keys, label_key_problems)
            program = self._one(
                each.get("valueExpression") or "", f"{at}.valueExpression", self._scope, _TEXT
            )
            if program is not None:
                found.append((key, program))
        return tuple(found)


REASONS = ("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge")


def _identifier_problems(name: str) -> list[str]:
    return (
        []
        if _NAME.fullmatch(name)
        else ["must be a name in CEL: letters, digits and _, not beginning with a digit"]
    )
