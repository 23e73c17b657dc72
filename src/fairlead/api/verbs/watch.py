"""Watch: what is there (unless the client has it already), then every change, in order, until someone ends it.

    resourceVersion   first events
    absent, empty     everything there is now, as ADDED; then changes
    0                 the same (any state will do; ours is always the newest)
    N                 only changes after N; 410 Expired when they are no longer kept

With sendInitialEvents=true the first events end with a bookmark that is marked so.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fairlead.api import options
from fairlead.api.desk import Desk
from fairlead.api.finding import not_newer_than
from fairlead.api.forms import META, Form, included_of, negotiate
from fairlead.api.list_options import check_watch
from fairlead.api.listing import compile_selectors, select_entries
from fairlead.api.plan import Context, Watch
from fairlead.api.tables import bookmark_table, metadata_form, table_of
from fairlead.core.errors import Expired
from fairlead.model.kind import Json, Kind
from fairlead.port.query import parse_flag, parse_whole
from fairlead.port.request import Request
from fairlead.store.contract import CommittedChange

_encode = msgspec.json.encode
# A watch that names no end lasts this long and up to twice as long, by chance: those that began together (after a
# restart, say) do not all come back together.
#: bound: connections | a watch without `timeoutSeconds` lasts, or up to twice as long | ends
TIMEOUT_SECONDS_DEFAULT = 1800.0
#: bound: connections | a watch with `timeoutSeconds` lasts at most | ends
TIMEOUT_SECONDS_MAX = 3600.0


def watch(desk: Desk, request: Request, kind: Kind, context: Context) -> Watch:
    check_watch(request.query)
    since, initial_asked = _start(desk, request, kind)
    initial = (
        tuple(select_entries(request, kind, desk.read.list(kind.resource, request.namespace)))
        if initial_asked
        else ()
    )
    bookmarks = bool(parse_flag(request.query, "allowWatchBookmarks"))
    asked = parse_whole(request.query, "timeoutSeconds")
    return Watch(
        resource=kind.resource,
        namespace=request.namespace if kind.namespaced else "",
        since=since,
        initial=initial,
        accepts=compile_selectors(request, kind),
        encode=_encoder(desk, request, kind),
        bookmarks=bookmarks,
        bookmark=_bookmark(request, kind),
        initial_end=bool(parse_flag(request.query, "sendInitialEvents")) and bookmarks,
        timeout_seconds=_timeout_seconds(asked, context),
    )


def _timeout_seconds(asked: int | None, context: Context) -> float:
    if asked:
        return min(float(asked), TIMEOUT_SECONDS_MAX)
    chance = int.from_bytes(context.entropy[-2:], "big") / 0x10000
    return TIMEOUT_SECONDS_DEFAULT * (1 + chance)


def _start(desk: Desk, request: Request, kind: Kind) -> tuple[int, bool]:
    """(revision to start after, whether what is there comes first)."""
    revision, newest = options.parse_revision(request.query), desk.read.revision
    asked = parse_flag(request.query, "sendInitialEvents")
    not_newer_than(desk, revision)
    if asked or (asked is None and not revision):
        return newest, True
    if revision is None or revision == 0:
        return newest, False
    if revision < desk.read.floor(kind.resource):
        raise Expired(
            f"too old resource version: {revision} ({desk.read.floor(kind.resource)}); list again and watch from there"
        )
    return revision, False


def _encoder(
    desk: Desk, request: Request, kind: Kind
) -> Callable[[str, CommittedChange, float], bytes] | None:
    form, _, meta = negotiate(request)
    if form is Form.OBJECT and kind.presented is None:
        return None
    if form is Form.METADATA and meta == META and kind.presented is None:
        return _metadata_frame
    include = included_of(request)
    first = True

    def encode(event: str, change: CommittedChange, now: float) -> bytes:
        nonlocal first
        body = change.entry.data
        if kind.presented is not None:
            # Its definition may have changed since the watch began.
            present = desk.catalog.find(kind.group, kind.version, kind.plural) or kind
            body = present.presented(body) if present.presented is not None else body
        if form is Form.METADATA:
            body = metadata_form(body, meta)
        elif form is Form.TABLE:
            metadata = {"resourceVersion": str(change.entry.revision)}
            body = table_of(kind, [body], metadata, include, now, meta, headings=first)
            first = False
        return _frame(event, body)

    return encode


def _metadata_frame(event: str, change: CommittedChange, now: float) -> bytes:
    """Encoded once for all who watch metadata alone."""
    if not change.metadata_frame:
        change.metadata_frame = _frame(event, metadata_form(change.entry.data, META))
    return change.metadata_frame


def _frame(event: str, body: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event.encode(), body)


def _bookmark(request: Request, kind: Kind) -> Callable[[int, bool], bytes]:
    form, _, meta = negotiate(request)
    partial = form is Form.METADATA
    name, version = ("PartialObjectMetadata", meta) if partial else (kind.kind, kind.api_version)

    def bookmark(revision: int, initial_end: bool) -> bytes:
        metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
        if initial_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj: Json = {"kind": name, "apiVersion": version, "metadata": metadata}
        if form is Form.TABLE:
            obj = bookmark_table(kind, metadata, meta)
        return _encode({"type": "BOOKMARK", "object": obj}) + b"\n"

    return bookmark
