"""In which form a client wants objects: whole, as a Table, or metadata only; as JSON or YAML. Read from Accept.

Clients list what they understand, best first (or with q-values); we take the best that we can give. Protobuf and CBOR
are passed over, so that clients which offer JSON or anything as well fall back to it; those that offer nothing else get
406, on which they do the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from fairlead.core import yaml_text
from fairlead.core.errors import BadRequest, NotAcceptable
from fairlead.core.problems import show
from fairlead.port.request import JSON, Request

META = "meta.k8s.io/v1"


class Form(Enum):
    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


class Negotiated(NamedTuple):
    form: Form
    media: str = JSON
    meta: str = META  # apiVersion of a Table or of metadata


class MediaRange(NamedTuple):
    """One range of an Accept header with its parameters, but for q."""

    media: str
    parameters: dict[str, str]


_INCLUDED = ("None", "Metadata", "Object")
_GIVEN = {
    JSON: JSON,
    "application/*": JSON,
    "*/*": JSON,
    yaml_text.MEDIA_TYPE: yaml_text.MEDIA_TYPE,
}
_VERSIONS = {"v1": META, "v1beta1": "meta.k8s.io/v1beta1"}
_FORMS = {
    "": Form.OBJECT,
    "Table": Form.TABLE,
    "PartialObjectMetadata": Form.METADATA,
    "PartialObjectMetadataList": Form.METADATA,
}
_AT_REST = f"{JSON}, {yaml_text.MEDIA_TYPE}"
_STREAMED = f"{JSON};stream=watch"


def negotiate(request: Request) -> Negotiated:
    """Also says whether there is one at all: asked before anything is written."""
    return _parse(request.accept, request.verb == "watch")


def check_whole(request: Request) -> None:
    """For answers that have neither columns nor metadata: 406 if the client takes nothing but a Table or metadata."""
    _parse(request.accept, False, only_whole=True)


def form_of(request: Request) -> Form:
    return _parse(request.accept, request.verb == "watch").form


def included_of(request: Request) -> str:
    """What the rows of a Table carry besides their cells."""
    included = request.query.get("includeObject") or "Metadata"
    if included not in _INCLUDED:
        raise BadRequest(
            f"includeObject: Unsupported value: {show(included)}: use one of {', '.join(_INCLUDED)}"
        )
    return included


def media_of(accept: str) -> str:
    """JSON or YAML: in which of them somebody reads what has no other forms, such as an error."""
    for choice in parse_accept(accept):
        media = _GIVEN.get(choice.media)
        if media is not None:
            return media
    return JSON


def parse_accept(accept: str) -> Iterator[MediaRange]:
    """The ranges of an Accept header, best first: by q, then what is named before what is left open."""
    found: list[tuple[float, int, MediaRange]] = []
    for text in accept.split(","):
        media, *rest = (part.strip() for part in text.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest if part)
        quality = _quality(parameters.pop("q", ""))
        if media and quality > 0:
            found.append((-quality, media.count("*"), MediaRange(media.lower(), parameters)))
    found.sort(key=lambda each: each[:2])
    return (choice for _, _, choice in found)


def _quality(text: str) -> float:
    try:
        return min(1.0, float(text)) if text else 1.0
    except ValueError:
        return 1.0


@lru_cache(maxsize=256)
def _parse(accept: str, streamed: bool, only_whole: bool = False) -> Negotiated:
    if not accept:
        return Negotiated(Form.OBJECT)
    for media, parameters in parse_accept(accept):
        given = _GIVEN.get(media)
        if given is None or parameters.get("stream", "watch") != "watch" or (streamed and given != JSON):
            continue
        form = _FORMS.get(parameters.get("as", ""))
        if form is Form.OBJECT:
            return Negotiated(form, given)
        if only_whole:
            continue
        meta = _VERSIONS.get(parameters.get("v", "")) if parameters.get("g") == "meta.k8s.io" else None
        if form is not None and meta is not None:
            return Negotiated(form, given, meta)
    raise NotAcceptable(f"only the following media types are accepted: {_STREAMED if streamed else _AT_REST}")
