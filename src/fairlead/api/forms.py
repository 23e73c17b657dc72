"""In which form a client wants objects: whole, as a Table, or metadata only. Read from the Accept header.

Clients list what they understand, best first; we take the first that we can give. Protobuf and CBOR are
passed over, so that clients which offer JSON as well fall back to it.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from fairlead.core.errors import BadRequest, NotAcceptable
from fairlead.core.problems import shown
from fairlead.port.request import Request


class Form(Enum):
    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


_INCLUDED = ("None", "Metadata", "Object")
_PLAIN = ("application/json", "application/*", "*/*")


def form_of(request: Request) -> Form:
    """Also says whether there is one at all: asked before anything is written."""
    return _parse(request.accept)


def included_of(request: Request) -> str:
    """What the rows of a Table carry besides their cells."""
    included = request.query.get("includeObject") or "Metadata"
    if included not in _INCLUDED:
        raise BadRequest(
            f"includeObject: Unsupported value: {shown(included)}: use one of {', '.join(_INCLUDED)}"
        )
    return included


@lru_cache(maxsize=256)
def _parse(accept: str) -> Form:
    if not accept:
        return Form.OBJECT
    for choice in accept.split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        if media not in _PLAIN:
            continue
        options = dict(part.partition("=")[::2] for part in parameters)
        wanted = options.get("as", "")
        if not wanted:
            return Form.OBJECT
        if options.get("g") == "meta.k8s.io" and options.get("v") == "v1":
            if wanted == "Table":
                return Form.TABLE
            if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
                return Form.METADATA
    raise NotAcceptable(
        "only the following media types are accepted: application/json (also as Table or PartialObjectMetadata)"
    )
