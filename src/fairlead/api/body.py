"""From request bytes to a JSON tree whose structure is known to be right, with warnings for what is doubtful.

Called by every verb that takes a body. Wrong types and, at level Strict, unknown or doubled fields are 400;
at level Warn they become warnings. What a value may be is judged later, by the kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from fairlead.api.desk import Desk
from fairlead.api.status import invalid
from fairlead.core import codec, yaml_text
from fairlead.core.errors import BadRequest, Cause, Invalid, UnsupportedMedia
from fairlead.core.problems import Problems, show
from fairlead.model import protobuf, structure
from fairlead.model.kind import Json, Kind
from fairlead.model.metadata import validate_metadata
from fairlead.model.shapes import fits
from fairlead.port.request import JSON, Request

#: bound: requests | warnings about fields in one answer | the rest is left out
_WARNED_MAX = 16
_MEDIA_KEPT = 256
_NULL = re.compile(rb"null(?=\s*[,}])")  # and not `nullable`; in a text it may be found for nothing


@lru_cache(maxsize=_MEDIA_KEPT)
def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def read_json(desk: Desk, request: Request) -> Json:
    """The body as a JSON object; refuses other media types and anything that is not an object.

    Protobuf is read as well: clients written in Go send it and do not try again with JSON.
    """
    media = media_type(request.content_type)
    if media and media not in (JSON, protobuf.MEDIA_TYPE):
        raise UnsupportedMedia(
            "the body of the request was in an unknown format - accepted media types include: "
            f"{JSON}, {yaml_text.MEDIA_TYPE}, {protobuf.MEDIA_TYPE}; got {show(media)}"
        )
    if not request.body:
        raise BadRequest("the request has no body; send the object as JSON")
    if media == protobuf.MEDIA_TYPE:
        return protobuf.read(desk.tables, request.body)
    return require_object(codec.decode(request.body))


def json_text(request: Request) -> bytes:
    """The body where its text can be searched for doubled fields; empty for protobuf, which names none."""
    return b"" if media_type(request.content_type) == protobuf.MEDIA_TYPE else request.body


def require_object(value: object) -> Json:
    if not isinstance(value, dict):
        raise BadRequest(f"the body must be a JSON object, got {show(value)}")
    return value


def check_identity(obj: Json, api_version: str, kind: str) -> None:
    """apiVersion and kind of the body must be those of the address it was sent to. Many clients leave them out:
    the address says it all."""
    for field, expected in (("apiVersion", api_version), ("kind", kind)):
        given = obj.get(field)
        if not given or given == expected:
            continue
        raise BadRequest(
            f"the {field} in the data ({show(given)}) does not match the expected {field} ({expected}); "
            "send it to its own address, or correct it"
        )


def check_meant_for(obj: Json, request: Request, kind: str) -> None:
    """What is sent along with an address may say what it is and which object it is for, but nothing else. In which
    version it is written does not matter: clients use that of the address or their own."""
    given = obj.get("kind")
    if given and given != kind:
        raise BadRequest(f"the kind in the data ({show(given)}) does not match the expected kind ({kind})")
    name = (obj.get("metadata") or {}).get("name")
    if name and name != request.name:
        raise BadRequest(
            f"name in URL does not match name in {kind} object: {show(request.name)} is not {show(name)}"
        )


def check_structure(
    desk: Desk,
    schema: str,
    obj: Json,
    level: str,
    raw: bytes = b"",
    kind: Kind | None = None,
    nulls: bool | None = None,
    *,
    fitting: bool = False,
) -> list[str]:
    """Types and field names against the table; returns warnings, or raises with every problem at once.

    Nulls count as absent and are dropped; `nulls` says whether there may be any, which otherwise the text tells. `raw`
    is looked through for fields given twice. An object of a stored kind is refused together with what the kind's own
    validation has to say of it, and without repeating what is sensitive in that kind. `fitting`: it is known to fit the
    table.
    """
    repeated = codec.duplicate_fields(raw, _WARNED_MAX, obj) if raw and level != "Ignore" else []
    if kind is not None and kind.structure is not None:
        findings = _made_to_fit(kind, kind.structure, obj)
    else:
        fitting = fitting or fits(desk.tables, schema, obj)
        findings = [] if fitting else _unknown_fields(desk, schema, obj, kind)
        if nulls is not False and _NULL.search(raw or codec.encode(obj)) is not None:
            structure.drop_nulls(obj)
    if level == "Ignore":
        return []
    return unknown_fields([*findings, *(f'duplicate field "{path}"' for path in repeated)], level)


def repeated_fields(raw: bytes, level: str) -> list[str]:
    """Fields that are given twice: a warning, or refused."""
    repeated = codec.duplicate_fields(raw, _WARNED_MAX) if raw and level != "Ignore" else []
    return unknown_fields([f'duplicate field "{path}"' for path in repeated], level)


def unknown_fields(findings: list[str], level: str) -> list[str]:
    """Fields that are unknown or doubled, as the client wants to be told of them: as warnings, or refused."""
    if level == "Ignore":
        return []
    if findings and level == "Strict":
        raise BadRequest(
            "strict decoding error: " + ", ".join(findings),
            causes=tuple(
                Cause("FieldValueInvalid", text, text.partition('"')[2].rstrip('"')) for text in findings
            ),
        )
    return findings[:_WARNED_MAX]


def _made_to_fit(kind: Kind, shape: Callable[[Json, list[str]], Problems], obj: Json) -> list[str]:
    """A custom kind's schema has it pruned; what else is wrong by it the kind's validation says."""
    unknown: list[str] = []
    decode = shape(obj, unknown)
    if decode:
        raise BadRequest(f"{kind.kind} cannot be handled: {decode.summary()}", causes=tuple(decode.causes))
    return [f'unknown field "{path}"' for path in unknown]


def _unknown_fields(desk: Desk, schema: str, obj: Json, kind: Kind | None) -> list[str]:
    """Raises with every problem at once, if there is another than fields that the table does not know."""
    unknown: list[str] = []
    values = Problems()
    hidden = kind.sensitive if kind is not None else ()
    decode = structure.check(desk.tables, schema, obj, unknown=unknown, values=values, hidden=hidden)
    if decode:
        what = kind.kind if kind is not None else schema
        raise BadRequest(f"{what} cannot be handled: {decode.summary()}", causes=tuple(decode.causes))
    if values:
        name = (obj.get("metadata") or {}).get("name", "")
        if kind is not None:
            _explain_further(kind, obj, values)
            raise invalid(kind, name, values)
        text = f'{schema} "{name}" is invalid: {values.summary()}'
        raise Invalid(text, causes=tuple(values.causes), kind=schema, name=name)
    if unknown:
        structure.drop_unknown(desk.tables, schema, obj)
    return [f'unknown field "{path}"' for path in unknown]


def _explain_further(kind: Kind, obj: Json, problems: Problems) -> None:
    """Add what the kind would say, so that everything is named at once; of a field that is missing or unsupported
    there is no more to say."""
    trial: Json = codec.clone(obj)
    structure.drop_nulls(trial)
    metadata = trial.setdefault("metadata", {})
    if kind.namespaced:
        metadata.setdefault("namespace", "default")  # the address says in which
    kind.defaults(trial)
    further = Problems()
    validate_metadata(kind, trial, further)
    kind.validate(trial, further)
    named = {cause.field for cause in problems.causes}
    problems.extend(cause for cause in further.causes if cause.field not in named)
