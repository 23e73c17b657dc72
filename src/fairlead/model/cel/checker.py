"""What can be said of an expression before there is an object: unknown names and functions, and types that do not fit.

Called by `program.py`. Where a type is not known (`dyn`, as `object` is: a policy is for many kinds) nothing is said,
and the value decides when it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.model.cel import syntax
from fairlead.model.cel.compiler import resolved
from fairlead.model.cel.errors import ExpressionError
from fairlead.model.cel.library.functions import NAMES, TYPES
from fairlead.model.cel.static import BOOL, DYN, INT, LIST, MAP, OPTIONAL, STRING, StaticType
from fairlead.model.cel.values import type_name

_NUMBERS = frozenset({"int", "uint", "double"})
_TIMES = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration"})
_PATCH_FIELDS = frozenset({"op", "path", "from", "value"})
_ARITHMETIC = {
    "+": _NUMBERS | _TIMES | {"string", "bytes", "list"},
    "-": _NUMBERS | _TIMES,
    "*": _NUMBERS,
    "/": _NUMBERS,
    "%": frozenset({"int", "uint"}),
}
_RELATIONS = frozenset({"<", "<=", ">", ">="})
_ORDERED = _NUMBERS | _TIMES | {"string", "bytes", "bool"}

Scope = Mapping[str, StaticType]


class TypeChecker:
    """One walk through one tree. `structs`: what may be made with braces (`Object`, `JSONPatch`)."""

    def __init__(self, text: str, structs: frozenset[str]) -> None:
        self._text = text
        self._structs = structs

    def type_of(self, node: syntax.SyntaxNode, scope: Scope) -> StaticType:
        """Raises ExpressionError."""
        return _RULES[type(node)](self, node, scope)

    def fail(self, node: syntax.SyntaxNode, why: str) -> ExpressionError:
        return ExpressionError(why, self._text, node.offset)

    def no_overload(self, node: syntax.SyntaxNode, name: str, *types: StaticType) -> ExpressionError:
        given = ", ".join(each.name for each in types)
        return self.fail(node, f"found no matching overload for '{name}' applied to '({given})'")

    def literal(self, node: syntax.Literal, scope: Scope) -> StaticType:
        return StaticType(type_name(node.value))

    def ident(self, node: syntax.Ident, scope: Scope) -> StaticType:
        if node.name in scope:
            return scope[node.name]
        if node.name in TYPES:
            return StaticType("type")
        known = ", ".join(sorted(scope))
        raise self.fail(
            node, f"undeclared reference to '{node.name}' (in container ''); here there are {known}"
        )

    def field(
        self, node: syntax.SyntaxNode, operand: syntax.SyntaxNode, name: str, scope: Scope
    ) -> StaticType:
        of = self.type_of(operand, scope)
        if of.name not in ("dyn", "map", "optional_type"):
            raise self.fail(node, f"type '{of.name}' does not support field selection")
        found = of.field(name)
        if found is None:
            raise self.fail(node, f"undefined field '{name}'")
        return found

    def select(self, node: syntax.Select, scope: Scope) -> StaticType:
        found = self.field(node, node.operand, node.field, scope)
        return OPTIONAL if node.optional else found

    def has(self, node: syntax.Has, scope: Scope) -> StaticType:
        self.field(node, node.operand, node.field, scope)
        return BOOL

    def index(self, node: syntax.IndexAccess, scope: Scope) -> StaticType:
        of, by = self.type_of(node.operand, scope), self.type_of(node.index, scope)
        if of.name not in ("dyn", "map", "list", "optional_type") or (
            of.name == "list" and by.name == "string"
        ):
            raise self.no_overload(node, "_[_]", of, by)
        return OPTIONAL if node.optional or of.name == "optional_type" else of.element()

    def call(self, node: syntax.FunctionCall, scope: Scope) -> StaticType:
        name, found, arguments = resolved(node)
        if found is None:
            if name in NAMES:
                raise self.fail(node, f"'{name}' does not take {len(node.arguments)} arguments")
            told = _qualified(node, scope) or name
            raise self.fail(
                node, f"undeclared reference to '{told}' (in container ''): there is no such function"
            )
        types = [self.type_of(each, scope) for each in arguments]
        if found.on and types[0].name != "dyn" and types[0].name not in found.on.split():
            raise self.no_overload(node, name, *types)
        return DYN if found.returns == "dyn" else StaticType(found.returns)

    def list(self, node: syntax.ListLiteral, scope: Scope) -> StaticType:
        for each in node.items:
            self.type_of(each, scope)
        return LIST

    def map(self, node: syntax.MapLiteral, scope: Scope) -> StaticType:
        for each in node.entries:
            key = self.type_of(each.key, scope)
            if key.name not in ("dyn", "string", "int", "uint"):
                raise self.fail(
                    each.key, f"unsupported key type: {key.name}; keys are strings and whole numbers"
                )
            self.type_of(each.value, scope)
        return MAP

    def struct(self, node: syntax.Struct, scope: Scope) -> StaticType:
        root = node.name.partition(".")[0]
        if root not in self._structs:
            raise self.fail(node, f"undeclared reference to '{node.name}' (in container '')")
        if root == "JSONPatch" and node.name != root:
            raise self.fail(node, f"undeclared reference to '{node.name}' (in container '')")
        for each in node.fields:
            if root == "JSONPatch" and each.name not in _PATCH_FIELDS:
                raise self.fail(
                    node, f"undefined field '{each.name}': JSONPatch has op, path, from and value"
                )
            self.type_of(each.value, scope)
        return StaticType(node.name)

    def truths(self, node: syntax.AnyOf | syntax.AllOf, scope: Scope) -> StaticType:
        for each in node.parts:
            found = self.type_of(each, scope)
            if found.name not in ("dyn", "bool"):
                raise self.no_overload(each, "_||_" if isinstance(node, syntax.AnyOf) else "_&&_", found)
        return BOOL

    def conditional(self, node: syntax.Conditional, scope: Scope) -> StaticType:
        test = self.type_of(node.test, scope)
        if test.name not in ("dyn", "bool"):
            raise self.no_overload(node, "_?_:_", test)
        then, otherwise = self.type_of(node.then, scope), self.type_of(node.otherwise, scope)
        return then if then.name == otherwise.name else DYN

    def unary(self, node: syntax.Unary, scope: Scope) -> StaticType:
        of = self.type_of(node.operand, scope)
        fits = (
            ("dyn", "bool") if node.operator == "!" else ("dyn", "int", "double", "google.protobuf.Duration")
        )
        if of.name not in fits:
            raise self.no_overload(node, f"{node.operator}_", of)
        return of

    def binary(self, node: syntax.Binary, scope: Scope) -> StaticType:
        left, right = self.type_of(node.left, scope), self.type_of(node.right, scope)
        operator = node.operator
        names = {left.name, right.name}
        if operator in _ARITHMETIC:
            allowed = _ARITHMETIC[operator]
            known = names - {"dyn"}
            if not known <= allowed or (len(known) == 2 and not known <= _TIMES):
                raise self.no_overload(node, f"_{operator}_", left, right)
            return left if left.name == right.name and left.name not in _TIMES else DYN
        if operator == "in":
            if right.name not in ("dyn", "list", "map"):
                raise self.no_overload(node, "@in", left, right)
        elif operator in _RELATIONS:
            known = names - {"dyn"}
            if not known <= _ORDERED or (len(known) == 2 and not known <= _NUMBERS):
                raise self.no_overload(node, f"_{operator}_", left, right)
        elif len(names) == 2 and not names & {"dyn", "null_type"} and not names <= _NUMBERS:
            raise self.no_overload(node, f"_{operator}_", left, right)
        return BOOL

    def loop(self, node: syntax.Loop, scope: Scope) -> StaticType:
        over = self.type_of(node.target, scope)
        if over.name not in ("dyn", "list", "map"):
            raise self.fail(node, f"expression of type '{over.name}' cannot be range of a comprehension")
        first = {"list": INT if len(node.variables) == 2 else over.element(), "map": STRING}.get(
            over.name, DYN
        )
        inner = {**scope, node.variables[0]: DYN if over.name == "map" and over.element() is DYN else first}
        if len(node.variables) == 2:
            inner[node.variables[1]] = over.element()
        if node.filter is not None:
            self._truth(node.filter, inner)
        if node.macro in ("all", "exists", "existsOne", "filter"):
            self._truth(node.body, inner)
        else:
            self.type_of(node.body, inner)
        if node.macro == "filter":
            return over if over.name == "list" else LIST
        return {"map": LIST, "transformMap": MAP, "transformMapEntry": MAP}.get(node.macro, BOOL)

    def _truth(self, node: syntax.SyntaxNode, scope: Scope) -> None:
        found = self.type_of(node, scope)
        if found.name not in ("dyn", "bool"):
            raise self.fail(node, f"expected type 'bool' but found '{found.name}'")

    def bind(self, node: syntax.LocalName, scope: Scope) -> StaticType:
        return self.type_of(node.body, {**scope, node.name: self.type_of(node.value, scope)})

    def optional_map(self, node: syntax.OptionalMap, scope: Scope) -> StaticType:
        of = self.type_of(node.target, scope)
        if of.name not in ("dyn", "optional_type"):
            raise self.no_overload(node, "optFlatMap" if node.flat else "optMap", of)
        self.type_of(node.body, {**scope, node.name: DYN})
        return OPTIONAL


def _qualified(node: syntax.FunctionCall, scope: Scope) -> str:
    """`math.least` where there is nothing of the name `math`."""
    if isinstance(node.target, syntax.Ident) and node.target.name not in scope:
        return f"{node.target.name}.{node.name}"
    return ""


_RULES: Mapping[type[syntax.SyntaxNode], Callable[[TypeChecker, Any, Scope], StaticType]] = {
    syntax.Literal: TypeChecker.literal,
    syntax.Ident: TypeChecker.ident,
    syntax.Select: TypeChecker.select,
    syntax.Has: TypeChecker.has,
    syntax.IndexAccess: TypeChecker.index,
    syntax.FunctionCall: TypeChecker.call,
    syntax.ListLiteral: TypeChecker.list,
    syntax.MapLiteral: TypeChecker.map,
    syntax.Struct: TypeChecker.struct,
    syntax.AnyOf: TypeChecker.truths,
    syntax.AllOf: TypeChecker.truths,
    syntax.Conditional: TypeChecker.conditional,
    syntax.Unary: TypeChecker.unary,
    syntax.Binary: TypeChecker.binary,
    syntax.Loop: TypeChecker.loop,
    syntax.LocalName: TypeChecker.bind,
    syntax.OptionalMap: TypeChecker.optional_map,
}
