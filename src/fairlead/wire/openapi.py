"""The OpenAPI documents on the wire: built when first asked for, kept as bytes, cacheable by their digest.

kubectl reads version 3 as JSON, and version 2 only as protobuf. The index of version 3 names each document by its
digest; an address that carries one may be cached for good, so that kubectl fetches each document once.
"""

from __future__ import annotations

from fairlead.api.openapi import render, v2_document
from fairlead.api.openapi_proto import ASKED, MEDIA_TYPE, encode_v2
from fairlead.core.codec import digest
from fairlead.model.catalog import Catalog
from fairlead.model.fields import FieldTables
from fairlead.port.request import JSON, Reply

_V2 = "/openapi/v2"
_NOT_MODIFIED = 304


class OpenApi:
    """The documents of one catalog."""

    def __init__(self, catalog: Catalog, tables: FieldTables, version: str) -> None:
        self._catalog = catalog
        self._tables = tables
        self._version = version
        self._rendered: dict[tuple[str, str], tuple[bytes, bytes]] = {}  # (path, media type) -> (body, etag)

    def answer(
        self, path: str, accept: str, if_none_match: bytes, hashed: bool
    ) -> tuple[Reply, bytes] | None:
        """The reply and its header lines; None where there is no such document."""
        if not self._rendered:
            self._render()
        protobuf = path == _V2 and (ASKED in accept or MEDIA_TYPE in accept)
        media = MEDIA_TYPE if protobuf else JSON
        found = self._rendered.get((path, media))
        if found is None:
            return None
        body, etag = found
        headers = b"etag: %b\r\nvary: accept\r\n" % etag
        if hashed:
            headers += b"cache-control: public, immutable, max-age=31536000\r\n"
        else:
            headers += b"cache-control: no-cache, private\r\n"
        if etag in if_none_match:
            return Reply(_NOT_MODIFIED, b"", media), headers
        return Reply(200, body, media), headers

    def _render(self) -> None:
        for path, body in render(self._catalog, self._tables, self._version).items():
            self._keep(path, JSON, body)
        self._keep(_V2, MEDIA_TYPE, encode_v2(v2_document(self._catalog, self._tables, self._version)))

    def _keep(self, path: str, media: str, body: bytes) -> None:
        self._rendered[path, media] = (body, b'"%b"' % digest(body).encode())
