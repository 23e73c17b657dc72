"""Field tables as msgspec types: says in a few microseconds whether an object has nothing wrong with it.

`model/structure.py` asks here first and walks the object only to explain a refusal. What fits here is never
refused there; rare spellings that are legal as well (line breaks in base64, spaces around a quantity) are
left to the walk. Types are made when first used and kept with the tables.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import Annotated, Any, ForwardRef, Literal, Optional

import msgspec

from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, Scalar, Type

_QUANTITY = r"\A[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?\Z"
_DATE = (
    r"(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = rf"\A{_DATE}T{_CLOCK}:[0-5][0-9](?:\.[0-9]{{1,9}})?(?:Z|[+-]{_CLOCK})\Z"

_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_INT32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_TIME_TEXT = Annotated[str, msgspec.Meta(pattern=_TIME)]
SCALAR_SHAPES: Mapping[str, Any] = {
    "string": str,
    "int32": _INT32,
    "int64": _INT64,
    "number": float,
    "boolean": bool,
    "quantity": _INT64 | float | Annotated[str, msgspec.Meta(pattern=_QUANTITY, max_length=64)],
    "time": _TIME_TEXT,
    "microtime": _TIME_TEXT,
    "int-or-string": _INT32 | str,
    "bytes": bytes,
    "any": Any,
}


class _WithinOthers(msgspec.Struct, forbid_unknown_fields=True):
    """Stands for a type inside itself, with others in between: no object fits, and the walk decides."""

    never: Literal["\0"]


_ITSELF = "_itself"  # attribute of the Struct of a type that holds itself, by which msgspec finds it


def fits(tables: FieldTables, type_name: str, obj: Any) -> bool:
    """True if every field is known, every value of the right type, every required field there.

    A null counts as absent. False may also mean "cannot tell": then the walk decides.
    """
    try:
        msgspec.convert(obj, shape(tables, type_name))
    except msgspec.ValidationError:
        return False
    return True


def shape(tables: FieldTables, type_name: str) -> type[msgspec.Struct]:
    """The Struct of a type. `msgspec.json.Decoder` of it judges bytes without building a tree."""
    kept = tables.shapes_of(type_name)
    found = kept.get(type_name)
    if found is None:
        fields = tables[type_name].fields.values()
        kept[type_name] = _WithinOthers
        found = kept[type_name] = msgspec.defstruct(
            type_name,
            [_member(tables, field, type_name) for field in fields],
            kw_only=True,
            gc=False,
            forbid_unknown_fields=True,
            rename={_attribute(field.name): field.name for field in fields if not _is_plain(field.name)},
        )
        setattr(found, _ITSELF, found)
    return found


def _member(tables: FieldTables, field: Field, owner: str) -> tuple[str, Any] | tuple[str, Any, Any]:
    name = field.name if _is_plain(field.name) else _attribute(field.name)
    kind = field.type
    if field.required:
        return name, _of(tables, kind, owner)
    if isinstance(kind, Scalar) and kind.enum:
        # Clients in Go send an unset choice as "".
        return name, Literal[(*kind.enum, "", None)], None
    return name, Optional[_of(tables, kind, owner)], None  # noqa: UP045 - `|` fails on Struct types in 3.11


def _is_plain(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _attribute(name: str) -> str:
    """A name that Python takes, for a field that has another."""
    return "_" + name.encode().hex()


def _of(tables: FieldTables, kind: Type, owner: str) -> Any:
    if isinstance(kind, Scalar):
        return Literal[kind.enum] if kind.enum else SCALAR_SHAPES[kind.name]
    if isinstance(kind, ListOf):
        return list[_of(tables, kind.item, owner)]  # type: ignore[misc]
    if isinstance(kind, MapOf):
        return dict[str, Optional[_of(tables, kind.value, owner)]]  # type: ignore[misc]  # noqa: UP045
    return ForwardRef(_ITSELF) if kind.name == owner else shape(tables, kind.name)
