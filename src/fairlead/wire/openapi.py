"""The OpenAPI documents on the wire: built when first asked for, kept as bytes, cacheable by their digest.

kubectl reads version 3 as JSON, and version 2 only as protobuf. The index of version 3 names each document by its
digest; an address that carries the right one may be cached for good, so that kubectl fetches each document once. When
kinds have come or gone, only the documents of their groups are built again, and those of all kinds together.
"""

from __future__ import annotations

from fairlead.api.openapi.documents import groups, v2_document, v3_document, v3_index
from fairlead.api.openapi.proto import ASKED, MEDIA_TYPE, encode_v2
from fairlead.core.codec import digest, encode
from fairlead.model.catalog import Catalog
from fairlead.model.fields import FieldTables
from fairlead.model.kind import Kind
from fairlead.port.request import JSON, Reply

_V2, _V3 = "/openapi/v2", "/openapi/v3"
_NOT_MODIFIED = 304


class OpenApi:
    """The documents of one catalog."""

    def __init__(self, catalog: Catalog, tables: FieldTables, version: str) -> None:
        self._catalog = catalog
        self._tables = tables
        self._version = version
        self._changes = -1
        self._groups: dict[str, tuple[Kind, ...]] = {}
        self._of_groups: dict[str, tuple[bytes, str]] = {}  # api/v1 -> (document, digest)
        self._of_all: dict[tuple[str, str], tuple[bytes, str]] = {}  # (path, media type) -> the same

    def answer(
        self, path: str, accept: str, if_none_match: bytes, asked_digest: str | None
    ) -> tuple[Reply, bytes] | None:
        """The reply and its header lines; None where there is no such document. `asked_digest` is the `hash=` of the
        address."""
        self._look()
        protobuf = path == _V2 and (ASKED in accept or MEDIA_TYPE in accept)
        media = MEDIA_TYPE if protobuf else JSON
        found = self._find(path, media)
        if found is None:
            return None
        body, known = found
        lasting = asked_digest == known and path not in (_V2, _V3)
        kept = b"public, immutable, max-age=31536000" if lasting else b"no-cache, private"
        etag = b'"%b"' % known.encode()
        headers = b"etag: %b\r\nvary: accept\r\ncache-control: %b\r\n" % (etag, kept)
        if etag in if_none_match:
            return Reply(_NOT_MODIFIED, b"", media), headers
        return Reply(200, body, media), headers

    def _look(self) -> None:
        """Forget the documents that are no longer right."""
        changes = self._catalog.changes
        if changes == self._changes:
            return
        self._changes = changes
        fresh = groups(self._catalog)
        for path in list(self._of_groups):
            if not _same(self._groups.get(path), fresh.get(path)):
                del self._of_groups[path]
        self._groups = fresh
        self._of_all.clear()

    def _find(self, path: str, media: str) -> tuple[bytes, str] | None:
        if path in (_V2, _V3):
            if (path, media) not in self._of_all:
                self._of_all[path, media] = _kept(self._build(path, media))
            return self._of_all[path, media]
        group = path.removeprefix(f"{_V3}/")
        return self._group(group) if group in self._groups else None

    def _group(self, path: str) -> tuple[bytes, str]:
        if path not in self._of_groups:
            document = v3_document(path, self._groups[path], self._tables, self._version)
            self._of_groups[path] = _kept(encode(document))
        return self._of_groups[path]

    def _build(self, path: str, media: str) -> bytes:
        if path == _V3:
            return encode(v3_index({group: self._group(group)[1] for group in self._groups}))
        document = v2_document(self._catalog, self._tables, self._version)
        return encode_v2(document) if media == MEDIA_TYPE else encode(document)


def _same(one: tuple[Kind, ...] | None, other: tuple[Kind, ...] | None) -> bool:
    """The very same kinds: one that was defined anew is another, though it may be equal."""
    if one is None or other is None or len(one) != len(other):
        return False
    return all(mine is theirs for mine, theirs in zip(one, other, strict=True))


def _kept(body: bytes) -> tuple[bytes, str]:
    return body, digest(body)
