"""Where to ask a node, as its agent announces it in annotations of its Node; and how to say that it cannot be asked.

Used by what only a node can answer: `subresources/log.py` and `metrics.py`. An announcement that is not of the form
https://HOST:PORT with a sha256 beside it counts as none: nodes write these themselves.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

from fairlead.api.plan import NodeAddress
from fairlead.core.errors import Unavailable
from fairlead.model.marks import NODE_CERTIFICATE, NODE_ENDPOINT

_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    annotations: dict[str, str] = {}


class _Node(msgspec.Struct, gc=False):
    metadata: _Metadata


_node = msgspec.json.Decoder(_Node).decode


def parse_node_address(node: bytes) -> NodeAddress | None:
    """The address in a stored Node; None where nobody can be asked."""
    if NODE_ENDPOINT.encode() not in node:
        return None
    metadata = _node(node).metadata
    url = metadata.annotations.get(NODE_ENDPOINT, "")
    certificate = metadata.annotations.get(NODE_CERTIFICATE, "")
    if not _SHA256.fullmatch(certificate):
        return None
    try:
        parts = urlsplit(url)
        good = parts.scheme == "https" and bool(parts.hostname) and bool(parts.port)
    except ValueError:
        return None
    if not good or parts.path not in ("", "/") or parts.query or parts.username is not None:
        return None
    return NodeAddress(metadata.name, url.rstrip("/"), certificate)


def no_answer(node: NodeAddress, why: str) -> Unavailable:
    """The node has an endpoint, and no answer came from there."""
    return Unavailable(
        f'node "{node.name}" does not answer at {node.url}: {why}; see `kubectl get node {node.name}` and whether'
        " its agent runs, then try again"
    )
