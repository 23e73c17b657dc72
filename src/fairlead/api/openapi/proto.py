"""The OpenAPI v2 document as protobuf, the only form in which kubectl reads version 2.

Called by whoever answers `/openapi/v2`, which keeps the bytes. Holds the definitions and no paths: kubectl
checks objects of kind List against them before it sends their items; what it needs of the paths it reads
from version 3. The numbers are those of the messages of gnostic's openapiv2, the public schema of this form.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import pack

import msgspec

from fairlead.model.kind import Json

# Clients ask for the first; it is no legal content type, so the answer is labelled with the second.
ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_DOUBLES = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_WHOLE = {
    "exclusiveMaximum": 8, "exclusiveMinimum": 10, "maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15,
    "uniqueItems": 16, "maxProperties": 17, "minProperties": 18,
}  # fmt: skip


def encode_v2(document: Json) -> bytes:
    """The bytes of a document that `v2_document` built."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    definitions = _named(document["definitions"])
    return b"".join((_text(1, document["swagger"]), _block(2, info), _block(8, b""), _block(9, definitions)))


def _named(schemas: Json) -> bytes:
    """Schemas by name: the form of definitions and of properties."""
    return b"".join(
        _block(1, _text(1, name) + _block(2, _schema(schema))) for name, schema in schemas.items()
    )


def _schema(schema: Json) -> bytes:
    return b"".join(_schema_parts(schema))


def _schema_parts(schema: Json) -> Iterable[bytes]:
    for key, value in schema.items():
        if key in _TEXTS:
            yield _text(_TEXTS[key], value)
        elif key in _DOUBLES:
            yield _varint(_DOUBLES[key] << 3 | 1) + pack("<d", value)
        elif key in _WHOLE:
            yield _varint(_WHOLE[key] << 3) + _varint(int(value) & 0xFFFFFFFFFFFFFFFF)
        elif key == "default":
            yield _block(5, _any(value))
        elif key == "required":
            yield from (_text(19, name) for name in value)
        elif key == "enum":
            yield from (_block(20, _any(choice)) for choice in value)
        elif key == "additionalProperties":
            yield _block(21, _block(1, _schema(value)))
        elif key == "type":
            yield _block(22, _text(1, value))
        elif key == "items":
            yield _block(23, _block(1, _schema(value)))
        elif key == "properties":
            yield _block(25, _named(value))
        elif key.startswith("x-"):
            yield _block(31, _text(1, key) + _block(2, _any(value)))
        else:
            raise ValueError(f"no protobuf form is known for {key!r} of a schema")


def _any(value: object) -> bytes:
    """Free values travel as YAML, of which JSON is a part."""
    return _block(2, msgspec.json.encode(value))


def _text(number: int, value: str) -> bytes:
    return _block(number, value.encode())


def _block(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    size = len(content)
    return b"%b%b%b" % (_MARKS[number], _SMALL[size] if size < _SMALL_MAX else _varint(size), content)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


# Most of what is written: field numbers and short lengths.
_SMALL_MAX = 1024
_SMALL = tuple(_varint(value) for value in range(_SMALL_MAX))
_MARKS = tuple(_varint(number << 3 | 2) for number in range(32))
