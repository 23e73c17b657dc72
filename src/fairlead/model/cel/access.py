"""Fields, elements and entries of values, as selecting, indexing and building maps need them. Used by `compiler.py`."""

from __future__ import annotations

from typing import Any

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.values import (
    NONE,
    LazyFields,
    MadeObject,
    OptionalValue,
    Spend,
    is_list,
    no_overload,
    type_name,
)


def select(value: Any, field: str, spend: Spend) -> Any:
    if type(value) is dict:
        if field in value:
            return value[field]
        raise EvaluationError(f"no such key: {field}")
    if isinstance(value, LazyFields):
        return value.value_of(field, spend)
    if isinstance(value, OptionalValue):
        return OptionalValue(value.value[field], True) if has_field(value, field) else NONE
    if isinstance(value, MadeObject):
        if field in value.fields:
            return value.fields[field]
        raise EvaluationError(f"no such key: {field}")
    raise EvaluationError(f"no such overload: {type_name(value)}.{field}")


def has_field(value: Any, field: str) -> bool:
    if type(value) is dict:
        return field in value
    if isinstance(value, LazyFields):
        return value.has(field)
    if isinstance(value, OptionalValue):
        return value.present and has_field(value.value, field)
    if isinstance(value, MadeObject):
        return field in value.fields
    raise EvaluationError(f"no such overload: has({type_name(value)}.{field})")


def at(value: Any, index: Any) -> OptionalValue:
    """The element there, if there is one."""
    if type(value) is dict:
        if isinstance(index, bool) or not isinstance(index, str | int | float):
            raise no_overload("_[_]", value, index)
        return OptionalValue(value[index], True) if index in value else NONE
    if is_list(value):
        if isinstance(index, float) and index.is_integer():
            index = int(index)
        if isinstance(index, bool) or not isinstance(index, int):
            raise no_overload("_[_]", value, index)
        return OptionalValue(value[index], True) if 0 <= index < len(value) else NONE
    raise no_overload("_[_]", value, index)


def required_optional(value: Any) -> OptionalValue:
    if isinstance(value, OptionalValue):
        return value
    raise no_overload("optional entry", value)


def put(entries: dict[Any, Any], key: Any, value: Any) -> None:
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise EvaluationError(
            f"unsupported key type: {type_name(key)}; keys here are strings and whole numbers"
        )
    if key in entries:
        raise EvaluationError(f"Failed with repeated key: {key}")
    entries[key] = value
