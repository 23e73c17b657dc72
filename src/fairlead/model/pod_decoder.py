"""Pods from their bytes to views, for `cache/mirror.py`: specs that are alike are decoded once and shared.

Most pods have the spec of many others, and every version of a pod the spec of the one before, but for the node that a
binding added at its end. What such views share is never changed: nobody changes a view.
"""

from __future__ import annotations

import msgspec
from msgspec import structs

from fairlead.core.kept import BoundedDict
from fairlead.model.views import Meta, Pod, PodSpec, PodStatus, View

_KEPT = 1024
_BYTES_MAX = 8 * 1024  # of a spec that is kept
_NODE = b',"nodeName":"'


class _Opened(View, frozen=True):
    metadata: Meta
    spec: msgspec.Raw = msgspec.Raw()
    status: PodStatus = PodStatus()


_whole = msgspec.json.Decoder(Pod).decode
_open = msgspec.json.Decoder(_Opened).decode
_spec = msgspec.json.Decoder(PodSpec).decode


def split_node(spec: bytes) -> tuple[bytes, bytes]:
    """An encoded spec without the node that was added at its end, and that node; b"" if there is none there."""
    rest, found, node = spec.rpartition(_NODE)
    if len(node) > 2 and found and node.count(b'"') == 1 and node[-2:] == b'"}' and b"\\" not in node:
        return rest + b"}", node[:-2]
    return spec, b""


class PodDecoder:
    """One per mirror. Bounded: the oldest specs go."""

    __slots__ = ("_specs",)

    def __init__(self) -> None:
        self._specs: BoundedDict[bytes, PodSpec] = BoundedDict(_KEPT)

    def decode(self, data: bytes) -> Pod:
        """Raises what msgspec raises."""
        try:
            opened = _open(data)
        except (ValueError, RecursionError):
            return _whole(data)  # says what is wrong, the spec included
        encoded = bytes(opened.spec)
        if not encoded or len(encoded) > _BYTES_MAX:
            return _whole(data)
        rest, node = split_node(encoded)
        known = self._specs.get(rest)
        if known is None:
            known = self._learn(rest, data)
        return Pod(opened.metadata, _on(known, node.decode()) if node else known, opened.status)

    def _learn(self, rest: bytes, data: bytes) -> PodSpec:
        _whole(data)  # what it refuses is refused in its words
        return self._specs.keep(rest, _spec(rest))


def _on(spec: PodSpec, node: str) -> PodSpec:
    return structs.replace(spec, node_name=node)
