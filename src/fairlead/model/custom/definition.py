"""A CustomResourceDefinition that is established, as the parts that its kinds are made of. No judging here.

Names and conditions are also what the planes and admission read, who need no schemas: those are most of a definition,
and `decode_brief` leaves them out unread.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.core import codec
from fairlead.model.kind import Json, Kind

ESTABLISHED, NAMES_ACCEPTED, TERMINATING = "Established", "NamesAccepted", "Terminating"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class _Version(msgspec.Struct, gc=False):
    name: str
    served: bool = False
    storage: bool = False


class _Spec(msgspec.Struct, gc=False):
    group: str
    scope: str
    names: dict[str, Any]
    versions: list[_Version] = []


class _Brief(msgspec.Struct, gc=False):
    metadata: dict[str, Any]
    spec: _Spec
    status: dict[str, Any] = {}


class _SpecAlone(msgspec.Struct, gc=False):
    spec: msgspec.Raw = msgspec.Raw(b"")


_brief = msgspec.json.Decoder(_Brief).decode
_spec_alone = msgspec.json.Decoder(_SpecAlone).decode


def decode_brief(data: bytes) -> Json:
    """A definition as it is stored, of its versions only the names and which are served and stored."""
    try:
        found: Json = msgspec.to_builtins(_brief(data))
    except msgspec.ValidationError:  # it did not come through our validation
        found = codec.decode(data)
    return found


def spec_bytes(data: bytes) -> bytes:
    """The spec of a definition, as it is stored."""
    return bytes(_spec_alone(data).spec)


def condition(definition: Json, name: str) -> Json | None:
    for each in (definition.get("status") or {}).get("conditions") or ():
        if each.get("type") == name:
            found: Json = each
            return found
    return None


def is_true(definition: Json, name: str) -> bool:
    found = condition(definition, name)
    return found is not None and found.get("status") == "True"


def names_of(definition: Json) -> Json:
    """The names in use: those that were accepted, which may not be those that are wished for."""
    accepted: Json = (definition.get("status") or {}).get("acceptedNames") or {}
    wished: Json = definition["spec"].get("names") or {}
    return accepted if accepted.get("plural") and accepted.get("kind") else wished


def storage_version(definition: Json) -> str:
    for each in definition["spec"].get("versions") or ():
        if each.get("storage"):
            name: str = each["name"]
            return name
    return ""


def outline_of(data: bytes) -> tuple[Kind, ...]:
    """Of a definition as it is stored; nothing unless it is established."""
    definition = decode_brief(data)
    return outline(definition) if is_true(definition, ESTABLISHED) else ()


def outline(definition: Json) -> tuple[Kind, ...]:
    """Its kinds as far as names go: enough to find, own and delete their objects."""
    spec, names = definition["spec"], names_of(definition)
    return tuple(
        Kind(
            group=spec["group"],
            version=each["name"],
            kind=names["kind"],
            plural=names["plural"],
            namespaced=spec["scope"] == "Namespaced",
            schema="",
            definition=definition["metadata"]["name"],
        )
        for each in spec.get("versions") or ()
        if each.get("served")
    )
