"""The last step of an answer: JSON as YAML or indented if the client asks for it, and packed where that saves much.

Used by the handler and the documents for everything but streams. Packing a long list takes milliseconds, so it is done
in a thread (zlib lets go of the interpreter) while the loop goes on; the exchange is answered when it is done.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from functools import lru_cache

import msgspec

from fairlead.api.forms import media_of, parse_accept
from fairlead.core import yaml_text
from fairlead.port.items import Items
from fairlead.port.request import JSON, Reply
from fairlead.wire.exchange import Exchange

# As Kubernetes: below it, packing costs more than it saves.
GZIP_BYTES_MIN = 128 * 1024
_LEVEL = 1
_PRETTY = re.compile(rb"[?&]pretty=(?:1|true)(?:&|$)")
_GZIP = 16 + zlib.MAX_WBITS


def send(exchange: Exchange, reply: Reply, extra: bytes = b"") -> None:
    """`extra` is whole header lines, each ending in CRLF."""
    reply = render(exchange, reply)
    content = reply.content
    size = len(content)  # of a long list that is a look at every row
    if size <= GZIP_BYTES_MIN and isinstance(content, bytes):  # as nearly always
        exchange.respond(reply.status, reply.content_type.encode(), content, extra)
    elif size > GZIP_BYTES_MIN and exchange.method != b"HEAD" and _takes_gzip(exchange):
        _send_packed(exchange, reply, extra, size)
    else:
        _send_plain(exchange, reply, extra, size)


def _send_plain(exchange: Exchange, reply: Reply, extra: bytes, size: int) -> None:
    kind, content = reply.content_type.encode(), reply.content
    if isinstance(content, bytes):
        exchange.respond(reply.status, kind, content, extra)
    elif len(content.rows) > 1:
        exchange.respond_long(reply.status, kind, size, content.pieces(), extra)
    else:
        exchange.respond(reply.status, kind, bytes(content), extra)


def render(exchange: Exchange, reply: Reply) -> Reply:
    accept = exchange.headers.get(b"accept", b"")
    if (b"yaml" not in accept and b"pretty" not in exchange.target) or not _is_json(reply):
        return reply
    if media_of(accept.decode("latin-1")) == yaml_text.MEDIA_TYPE:
        return msgspec.structs.replace(
            reply, content=yaml_text.from_json(reply.body), content_type=yaml_text.MEDIA_TYPE
        )
    if _PRETTY.search(exchange.target):
        return msgspec.structs.replace(reply, content=msgspec.json.format(reply.body, indent=2) + b"\n")
    return reply


def _is_json(reply: Reply) -> bool:
    return reply.content_type.startswith(JSON) and len(reply.content) > 0


def _takes_gzip(exchange: Exchange) -> bool:
    return _offers_gzip(exchange.headers.get(b"accept-encoding", b"").decode("latin-1"))


@lru_cache(maxsize=64)
def _offers_gzip(accepted: str) -> bool:
    return any(choice.media == "gzip" for choice in parse_accept(accepted))


def _send_packed(exchange: Exchange, reply: Reply, extra: bytes, size: int) -> None:
    def respond(packed: asyncio.Future[bytes]) -> None:
        if packed.cancelled() or packed.exception() is not None:
            _send_plain(exchange, reply, extra, size)
        else:
            more = extra + b"content-encoding: gzip\r\nvary: accept-encoding\r\n"
            exchange.respond(reply.status, reply.content_type.encode(), packed.result(), more)

    try:
        exchange.loop.run_in_executor(None, _packed, reply.content).add_done_callback(respond)
    except RuntimeError:  # the server is stopping and takes on no more work
        _send_plain(exchange, reply, extra, size)


def _packed(content: bytes | Items) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    pieces = (content,) if isinstance(content, bytes) else content.pieces()
    return b"".join([*map(packer.compress, pieces), packer.flush()])
