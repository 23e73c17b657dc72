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
from fairlead.api.forms import Form, form_of, included_of
from fairlead.api.listing import acceptor, chosen
from fairlead.api.plan import Context, Watch
from fairlead.api.tables import metadata_form, table_of
from fairlead.core.errors import BadRequest, Expired
from fairlead.model.kind import Json, Kind
from fairlead.port.request import Request
from fairlead.store.contract import Change

_encode = msgspec.json.encode
TIMEOUT_SECONDS_DEFAULT = 1800.0


def watch(desk: Desk, request: Request, kind: Kind, context: Context) -> Watch:
    since, initial_asked = _start(desk, request, kind)
    initial = (
        tuple(chosen(request, kind, desk.read.list(kind.resource, request.namespace)))
        if initial_asked
        else ()
    )
    bookmarks = bool(options.flag(request.query, "allowWatchBookmarks"))
    asked = options.whole(request.query, "timeoutSeconds")
    return Watch(
        resource=kind.resource,
        namespace=request.namespace if kind.namespaced else "",
        since=since,
        initial=initial,
        accepts=acceptor(request, kind),
        encode=_encoder(request, kind),
        bookmarks=bookmarks,
        bookmark=_bookmark(request, kind),
        initial_end=bool(options.flag(request.query, "sendInitialEvents")) and bookmarks,
        timeout_seconds=float(asked) if asked else TIMEOUT_SECONDS_DEFAULT,
    )


def _start(desk: Desk, request: Request, kind: Kind) -> tuple[int, bool]:
    """(revision to start after, whether what is there comes first)."""
    revision, newest = options.revision(request.query), desk.read.revision
    wanted = options.flag(request.query, "sendInitialEvents")
    match = request.query.get("resourceVersionMatch", "")
    if wanted is not None and match != "NotOlderThan":
        raise BadRequest('sendInitialEvents requires resourceVersionMatch to be "NotOlderThan"')
    if wanted is None and match:
        raise BadRequest("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    not_newer_than(desk, revision)
    if wanted or (wanted is None and not revision):
        return newest, True
    if revision is None or revision == 0:
        return newest, False
    if revision < desk.read.floor(kind.resource):
        raise Expired(
            f"too old resource version: {revision} ({desk.read.floor(kind.resource)}); list again and watch from there"
        )
    return revision, False


def _encoder(request: Request, kind: Kind) -> Callable[[str, Change, float], bytes] | None:
    form = form_of(request)
    if form is Form.OBJECT:
        return None
    include = included_of(request)
    first = True

    def encode(event: str, change: Change, now: float) -> bytes:
        nonlocal first
        if form is Form.METADATA:
            body = metadata_form(change.entry.data)
        else:
            metadata = {"resourceVersion": str(change.entry.revision)}
            body = table_of(kind, [change.entry.data], metadata, include, now, headings=first)
            first = False
        return b'{"type":"' + event.encode() + b'","object":' + body + b"}\n"

    return encode


def _bookmark(request: Request, kind: Kind) -> Callable[[int, bool], bytes]:
    partial = form_of(request) is Form.METADATA
    name, version = ("PartialObjectMetadata", "meta.k8s.io/v1") if partial else (kind.kind, kind.api_version)

    def bookmark(revision: int, initial_end: bool) -> bytes:
        metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
        if initial_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj = {"kind": name, "apiVersion": version, "metadata": metadata}
        return _encode({"type": "BOOKMARK", "object": obj}) + b"\n"

    return bookmark
