"""What is doubtful about the expressions of a ValidatingAdmissionPolicy, told in its status: `typeChecking`.

A policy may be about several kinds, so its expressions are taken as they are when it is written: `object` may be
anything. Here they are looked at once more for each kind that its rules name, with the fields of that kind. What is
found changes nothing; Kubernetes tells it in the same place and form. As there, rules with `*` name no kind, custom
kinds are left out, and no more than ten kinds are looked at. Called by `api/writing.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.model.catalog import Catalog
from fairlead.model.cel.errors import ExpressionError
from fairlead.model.cel.static import DYN, StaticType
from fairlead.model.fields import FieldTables, ListOf, MapOf, Ref, Scalar, Type
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.admission.expressions import find_errors

#: bound: policies | kinds with whose fields the expressions of one policy are compared | the others are not
KINDS_MAX = 10
_ALL = "*"
# Times, quantities and bytes are texts to expressions and not to OpenAPI: nothing is said of them.
_NAMES = {"string": "string", "int32": "int", "int64": "int", "number": "double", "boolean": "bool"}


class TableStatic(StaticType):
    """What the field tables say of a value."""

    __slots__ = ("_tables", "_type")

    def __init__(self, tables: FieldTables, of: Type) -> None:
        name = (
            _NAMES.get(of.name, "dyn")
            if isinstance(of, Scalar)
            else "list"
            if isinstance(of, ListOf)
            else "map"
        )
        super().__init__(name)
        self._tables, self._type = tables, of

    def field(self, name: str) -> StaticType | None:
        of = self._type
        if isinstance(of, MapOf):
            return TableStatic(self._tables, of.value)
        if not isinstance(of, Ref):
            return DYN
        found = self._tables[of.name].fields.get(name)
        return TableStatic(self._tables, found.type) if found is not None else None

    def element(self) -> StaticType:
        of = self._type
        below = of.item if isinstance(of, ListOf) else of.value if isinstance(of, MapOf) else None
        return TableStatic(self._tables, below) if below is not None else DYN


def tell_types(desk: Desk, attempt: Attempt) -> None:
    """Of a policy that is written."""
    new = attempt.new
    assert new is not None
    warnings = expression_warnings(new.get("spec") or {}, desk.catalog, desk.tables)
    new["status"]["typeChecking"] = {"expressionWarnings": warnings} if warnings else {}


def expression_warnings(spec: Json, kinds: Catalog, tables: FieldTables) -> list[Json]:
    """Of every expression that does not fit a kind it is about: a line for each such kind."""
    params = _parameters(spec.get("paramKind") or {}, kinds, tables)
    told: dict[str, list[str]] = {}
    for kind in _named(spec, kinds):
        own = TableStatic(tables, Ref(kind.schema))
        for path, text, error in find_errors(spec, {"object": own, "oldObject": own, **params}):
            name = f"{kind.group}/{kind.version}" if kind.group else kind.version
            told.setdefault(path, []).append(f"{name}, Kind={kind.kind}: {_pointed(text, error)}")
    return [{"fieldRef": path, "warning": "\n".join(lines)} for path, lines in told.items()]


def _named(spec: Json, kinds: Catalog) -> list[Kind]:
    found: dict[tuple[str, str], Kind] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        for group, version, resource in _addresses(rule):
            plural, _, subresource = resource.partition("/")
            kind = kinds.find(group, version, plural) if subresource in ("", "status") else None
            if kind is not None and not kind.definition:
                found[kind.api_version, kind.kind] = kind
    return list(found.values())[:KINDS_MAX]


def _addresses(rule: Json) -> Iterator[tuple[str, str, str]]:
    for group in rule.get("apiGroups") or ():
        for version in rule.get("apiVersions") or ():
            for resource in rule.get("resources") or ():
                if _ALL not in (group, version) and _ALL not in resource:
                    yield group, version, resource


def _parameters(named: Json, kinds: Catalog, tables: FieldTables) -> Mapping[str, StaticType]:
    group, _, version = (named.get("apiVersion") or "").rpartition("/")
    kind = kinds.find_kind(group, version, named.get("kind") or "") if named else None
    return (
        {"params": TableStatic(tables, Ref(kind.schema))} if kind is not None and not kind.definition else {}
    )


def _pointed(text: str, error: ExpressionError) -> str:
    """With the line, and a mark below the place."""
    line = text.split("\n")[error.line - 1] if text else ""
    return f"{error}\n | {line}\n | {'.' * (error.column - 1)}^"
