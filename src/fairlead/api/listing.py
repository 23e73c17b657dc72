"""Lists: which revision is read, which entries match, one page of them, and the bytes that answer.

Used by list, watch (its first events) and deletecollection. An unfiltered list is joined from stored bytes
without decoding a single object.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from fairlead.api import options
from fairlead.api.desk import Desk
from fairlead.api.finding import not_newer_than
from fairlead.api.forms import Form, included_of, negotiate
from fairlead.api.list_options import check_list
from fairlead.api.tables import metadata_form, table_of
from fairlead.core.errors import BadRequest, Expired
from fairlead.core.problems import show
from fairlead.model.kind import Json, Kind
from fairlead.model.selectors import field_matcher, parse_fields, parse_labels
from fairlead.port.items import Items
from fairlead.port.query import parse_whole
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Compacted, Entry
from fairlead.store.damage import is_stand_in

_encode = msgspec.json.encode
Accepts = Callable[[Entry], bool]
# Fields that the key tells: their position in it.
_KEY_FIELDS = {"metadata.name": 2, "metadata.namespace": 1}


class _Labelled(msgspec.Struct, gc=False):
    labels: dict[str, str] = {}


class _Labels(msgspec.Struct, gc=False):
    metadata: _Labelled


# All watchers with selectors look at the same few versions, one after the other: each is decoded once for all of them.
_VERSIONS_KEPT = 8
_labels = lru_cache(_VERSIONS_KEPT)(msgspec.json.Decoder(_Labels).decode)
_object = lru_cache(_VERSIONS_KEPT)(msgspec.json.Decoder(dict[str, Any]).decode)


class _Token(msgspec.Struct, array_like=True):
    """Where the next page starts: the revision all pages share, and the last key of this one."""

    revision: int
    namespace: str
    name: str


_token = msgspec.json.Decoder(_Token).decode


def compile_selectors(request: Request, kind: Kind) -> Accepts | None:
    """The selectors of a request as one predicate; None when there are none."""
    tests: list[Accepts] = []
    if text := request.query.get("labelSelector"):
        labels_match = parse_labels(text).matches
        tests.append(
            lambda entry: labels_match(_labels(entry.data).metadata.labels) or is_stand_in(entry.data)
        )
    if text := request.query.get("fieldSelector"):
        tests.append(_field_test(text, kind))
    if request.name:
        tests.append(lambda entry: entry.key.name == request.name)
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda entry: all(test(entry) for test in tests)


def _field_test(text: str, kind: Kind) -> Accepts:
    """Names are compared without decoding; other fields only for what passed so far."""
    by_key = []
    by_object = []
    for requirement in parse_fields(text):
        if requirement.field in _KEY_FIELDS:
            by_key.append((_KEY_FIELDS[requirement.field], requirement.equal, requirement.value))
        else:
            by_object.append(requirement)
    unknown = [requirement.field for requirement in by_object if requirement.field not in kind.selectable]
    if unknown:
        known = ", ".join((*_KEY_FIELDS, *sorted(kind.selectable)))
        label = show(unknown[0])[1:-1]
        raise BadRequest(f"field label not supported: {label}; {kind.kind} can be selected by {known}")
    object_matches = field_matcher(by_object, kind.selectable) if by_object else None

    def accepts(entry: Entry) -> bool:
        for position, equal, value in by_key:
            if (entry.key[position] == value) is not equal:
                return False
        # Whether one that is damaged would match is not known: who counts on it must not think that it is gone.
        return object_matches is None or object_matches(_object(entry.data)) or is_stand_in(entry.data)

    return accepts


def select_entries(request: Request, kind: Kind, entries: Sequence[Entry]) -> Sequence[Entry]:
    accepts = compile_selectors(request, kind)
    return entries if accepts is None else [entry for entry in entries if accepts(entry)]


def list_page(desk: Desk, request: Request, kind: Kind, now: float) -> Reply:
    """One list request answered, whole or a page of it."""
    check_list(request.query)
    limit = parse_whole(request.query, "limit") or 0
    token = _read_token(request)
    revision = token.revision if token else _revision_to_read(desk, request)
    entries = _entries_at(desk, request, kind, revision, token)
    start = bisect_right(entries, (token.namespace, token.name), key=_position) if token else 0
    matching = _first(entries, start, limit + 1 if limit else 0, compile_selectors(request, kind))
    following, remaining = "", None
    if limit and len(matching) > limit:
        # With selectors the rest would have to be matched to be counted; Kubernetes leaves it out too.
        remaining = None if _selects(request) else len(entries) - start - limit
        matching = matching[:limit]
        last = matching[-1].key
        following = base64.urlsafe_b64encode(_encode(_Token(revision, last.namespace, last.name))).decode()
    return render_list(request, kind, matching, revision, now, following, remaining)


def _position(entry: Entry) -> tuple[str, str]:
    return entry.key.namespace, entry.key.name


def _first(entries: Sequence[Entry], start: int, count: int, accepts: Accepts | None) -> Sequence[Entry]:
    """Up to `count` accepted entries from `start` on; all of them if `count` is 0."""
    if accepts is None:
        if not start and not count:
            return entries
        return entries[start : start + count] if count else entries[start:]
    matching = filter(accepts, islice(entries, start, None))
    return list(islice(matching, count)) if count else list(matching)


def _selects(request: Request) -> bool:
    return bool(request.query.get("labelSelector") or request.query.get("fieldSelector"))


def _revision_to_read(desk: Desk, request: Request) -> int:
    """resourceVersion and resourceVersionMatch as Kubernetes defines them for lists."""
    asked, match = options.parse_revision(request.query), request.query.get("resourceVersionMatch", "")
    not_newer_than(desk, asked)
    # A page asked for at a revision is of that very revision, so that the pages after it fit.
    exact = match == "Exact" or (not match and parse_whole(request.query, "limit"))
    return asked if exact and asked else desk.read.revision


def _read_token(request: Request) -> _Token | None:
    text = request.query.get("continue")
    if not text:
        return None
    if options.parse_revision(request.query):
        raise BadRequest(
            "specifying resource version is not allowed when using continue: the token carries it"
        )
    try:
        return _token(base64.urlsafe_b64decode(text))
    except (binascii.Error, msgspec.MsgspecError, ValueError) as problem:
        raise BadRequest(
            "continue key is not valid: it is not one that this server gave out; start the list again"
        ) from problem


def _entries_at(
    desk: Desk, request: Request, kind: Kind, revision: int, token: _Token | None
) -> Sequence[Entry]:
    if revision == desk.read.revision:
        return desk.read.list(kind.resource, request.namespace)
    not_newer_than(desk, revision)
    try:
        return desk.read.list_at(kind.resource, request.namespace, revision)
    except Compacted as compacted:
        told = "The resourceVersion for the provided list is too old."
        if token:
            told = "The provided continue parameter is too old to display a consistent list result."
        raise Expired(
            f"{told} It is of revision {revision}, history begins at {compacted.floor}; start a new list without it."
        ) from compacted


def render_list(
    request: Request,
    kind: Kind,
    entries: Sequence[Entry],
    revision: int,
    now: float,
    following: str,
    remaining: int | None,
) -> Reply:
    """Entries as a list of the kind, a Table or PartialObjectMetadata, as the client accepts."""
    metadata: Json = {"resourceVersion": str(revision)}
    if following:
        metadata["continue"] = following
        if remaining is not None:
            metadata["remainingItemCount"] = remaining
    form, _, meta = negotiate(request)
    rows = [entry.data for entry in entries]
    if kind.presented is not None:
        rows = [kind.presented(data) for data in rows]
    if form is Form.TABLE:
        return Reply(200, table_of(kind, rows, metadata, included_of(request), now, meta, headings=True))
    if form is Form.METADATA:
        head = {"kind": "PartialObjectMetadataList", "apiVersion": meta, "metadata": metadata}
        rows = [metadata_form(data, meta) for data in rows]
    else:
        head = {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": metadata}
    return Reply(200, Items(_encode(head)[:-1] + b',"items":[', rows, b"]}"))
