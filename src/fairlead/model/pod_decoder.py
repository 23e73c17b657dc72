"""Pods from their bytes to views, for `cache/mirror.py`: a spec that is known (`specs.py`) is not decoded again.

Views of one spec share their parts, those on a node as well, and `schedule/facts.py` knows them by that. Nobody
changes a view.
"""

from __future__ import annotations

import msgspec
from msgspec import structs

from fairlead.model.specs import KnownSpec, derived, stored_spec
from fairlead.model.views import Meta, Pod, PodSpec, PodStatus, View


class _Opened(View, frozen=True):
    metadata: Meta
    spec: msgspec.Raw = msgspec.Raw()
    status: PodStatus = PodStatus()


_whole = msgspec.json.Decoder(Pod).decode
_open = msgspec.json.Decoder(_Opened).decode
_spec = msgspec.json.Decoder(PodSpec).decode


@derived
def pod_spec(spec: KnownSpec) -> PodSpec:
    return _spec(spec.encoded)


def decode_pod(data: bytes) -> Pod:
    """Raises what msgspec raises."""
    try:
        opened = _open(data)
        known, node = stored_spec("pods", bytes(opened.spec))
        spec = pod_spec(known)
        if node:
            spec = structs.replace(spec, node_name=node.decode())
    except (ValueError, RecursionError):
        return _whole(data)  # there is no spec, or something is wrong: it says what, the spec included
    return Pod(opened.metadata, spec, opened.status)
