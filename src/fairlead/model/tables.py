"""Turns the text of the field tables (`model/tbl/*.tbl`) into `FieldTables`.

Called by `model/files.py`, which reads the files; pure, so that tests can feed it any text.

The format, one fact per line:

    # comment
    package io.k8s.api.core.v1
    type NodeSelector atomic  -- what the type is
    type ScalerSpecV1 as=ScalerSpec
      name string! @1  -- what the field is
      ports [ContainerPort] @6 merge=containerPort map=containerPort,protocol
      limits {quantity} @2.1
      policy string? enum=Always|Never

`!` is required, `?` tells zero and absent apart, `[T]` is a list, `{T}` an object with free keys. `@N` is the
number in protobuf, `@M.N` that of a field which protobuf folds into message M. `merge=KEY`, `merge`, `replace`
and `retainKeys` are strategic merge; `atomic`, `set`, `map=KEYS` and `default=` server-side apply. An enum on a
list is one of its items. `as=` is the name under which clients know a type that shares it with a type of another
version; the tables have one name for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fairlead.core.errors import FairleadError
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, ObjectType, Ref, Scalar, Type

_PLAIN = ("string", "int32", "int64", "number", "boolean", "any")
SCALARS = frozenset((*_PLAIN, "quantity", "time", "microtime", "int-or-string", "bytes"))
_NO_STRATEGY: frozenset[str] = frozenset()


class TableError(FairleadError):
    """A table cannot be understood: the message names file, line and what was expected."""


def parse_tables(sources: Iterable[tuple[str, str]]) -> FieldTables:
    """`sources` are (file name, text). Every type that a field names must be defined in one of them."""
    types: dict[str, ObjectType] = {}
    used: dict[str, str] = {}  # type name -> where it is used first
    known: dict[str, Type] = {}
    for file, text in sources:
        for where, found in _types_of(file, text, known, used):
            if found.name in types:
                raise TableError(f"{where}: type {found.name} is defined twice")
            types[found.name] = found
    for name, where in used.items():
        if name not in types:
            raise TableError(f"{where}: type {name} is not defined in any table")
    return FieldTables(types)


def _types_of(
    file: str, text: str, known: dict[str, Type], used: dict[str, str]
) -> Iterator[tuple[str, ObjectType]]:
    package = ""
    header: tuple[str, ObjectType] | None = None  # where it begins, and the type without its fields
    fields: dict[str, Field] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line[0] == "#":
            continue
        head, _, description = line.partition("  -- ")
        words = head.split()
        if line[0] == " ":
            where = f"{file}:{number}"
            if header is None:
                raise TableError(f"{where}: a field before the first `type` line")
            field = _field(where, words, description, known, used)
            if field.name in fields:
                raise TableError(f"{where}: field {field.name} is listed twice in {header[1].name}")
            fields[field.name] = field
            continue
        if header is not None:
            yield header[0], replace(header[1], fields=fields)
            header, fields = None, {}
        if words[0] == "package" and len(words) == 2:
            package = words[1]
        elif words[0] == "type" and (found := _header(words[1:], package, description)) is not None:
            header = f"{file}:{number}", found
        else:
            raise TableError(
                f"{file}:{number}: expected `package NAME` or `type NAME [atomic] [as=NAME]`, found {head!r}"
            )
    if header is not None:
        yield header[0], replace(header[1], fields=fields)


def _header(words: list[str], package: str, description: str) -> ObjectType | None:
    if not words:
        return None
    name, *options = words
    atomic = options[:1] == ["atomic"]
    if len(options) > 1 + atomic:
        return None
    option, _, published = "".join(options[atomic:]).partition("=")
    if option and (option != "as" or not published):
        return None
    return ObjectType(
        name=name, fields={}, package=package, atomic=atomic, description=description, published=published
    )


def _field(
    where: str, words: list[str], description: str, known: dict[str, Type], used: dict[str, str]
) -> Field:
    if len(words) < 2:
        raise TableError(f"{where}: expected `NAME TYPE [OPTIONS]`, found {' '.join(words)!r}")
    text = words[1]
    mark = text[-1]
    if mark in "!?":
        text = text[:-1]
    found = known.get(text)
    if found is None:
        found = known[text] = _type(where, text, used)
    merge_key = list_type = default = ""
    strategy = _NO_STRATEGY
    list_keys: tuple[str, ...] = ()
    number: tuple[int, ...] = ()
    for option in words[2:]:
        if option[0] == "@":
            number = _number(where, option)
            continue
        key, _, value = option.partition("=")
        if key == "merge":
            merge_key, strategy = value, strategy | {"merge"}
        elif key in ("replace", "retainKeys") and not value:
            strategy = strategy | {key}
        elif key == "map" and value:
            list_type, list_keys = "map", tuple(value.split(","))
        elif key in ("atomic", "set") and not value:
            list_type = key
        elif key == "enum" and value:
            found = _with_enum(where, found, tuple(value.split("|")))
        elif key == "default" and value:
            default = value
        else:
            raise TableError(f"{where}: unknown option {option!r}")
    return Field(
        name=words[0],
        type=found,
        required=mark == "!",
        merge_key=merge_key,
        strategy=strategy,
        list_type=list_type,
        list_keys=list_keys,
        default=default,
        zero=mark == "?",
        number=number,
        description=description,
    )


def _number(where: str, option: str) -> tuple[int, ...]:
    numbers = option[1:].split(".")
    if not all(each.isdecimal() for each in numbers):
        raise TableError(f"{where}: expected `@NUMBER` or `@NUMBER.NUMBER`, found {option!r}")
    return tuple(int(each) for each in numbers)


def _type(where: str, text: str, used: dict[str, str]) -> Type:
    if text.startswith("[") and text.endswith("]"):
        return ListOf(_type(where, text[1:-1], used))
    if text.startswith("{") and text.endswith("}"):
        return MapOf(_type(where, text[1:-1], used))
    if text in SCALARS:
        return Scalar(text)
    if not (text[:1].isupper() and text.isalnum()):
        raise TableError(f"{where}: {text!r} is neither a scalar nor the name of a type")
    used.setdefault(text, where)
    return Ref(text)


def _with_enum(where: str, found: Type, choices: tuple[str, ...]) -> Type:
    if isinstance(found, ListOf):
        return ListOf(_with_enum(where, found.item, choices))
    if found != Scalar("string"):
        raise TableError(f"{where}: only a string, or a list of them, can have an enum")
    return Scalar("string", choices)
