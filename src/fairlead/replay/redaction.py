"""Takes secrets out of what is captured, and keeps which of them are equal.

    redact(resource, data, key) -> data

Fields that a kind calls sensitive (`Kind.sensitive`: of Secrets `data` and `stringData`) keep their keys; each value
becomes a keyed hash of it. The key is drawn for each capture and thrown away: two values are the same in a file if they
were the same on the plane, and nobody can try out what they were. What kubectl remembers of such an object in an
annotation goes the same way. Nothing is decided on what is taken out, so decisions come out the same.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from fairlead.core import codec
from fairlead.model.catalog import CATALOG

#: bound: plane | key with which a capture takes secrets out, in bytes | 400
CAPTURE_KEY_BYTES_MAX = 64
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def redact(resource: str, data: bytes, key: bytes) -> bytes:
    kind = CATALOG.of_resource(resource)
    if kind is None or not kind.sensitive:
        return data
    parts: dict[str, Any] = dict(_PARTS.decode(data))
    for field in kind.sensitive:
        if field in parts:
            parts[field] = _hidden(codec.decode(bytes(parts[field])), key)
    metadata = codec.decode(bytes(parts["metadata"])) if "metadata" in parts else {}
    annotations = metadata.get("annotations") or {}
    if _LAST_APPLIED in annotations:
        annotations[_LAST_APPLIED] = _hidden(annotations[_LAST_APPLIED], key)
        parts["metadata"] = metadata
    return msgspec.json.encode(parts)


def _hidden(value: Any, key: bytes) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(each, key) for name, each in value.items()}
    if isinstance(value, list):
        return [_hidden(each, key) for each in value]
    # 24 hex digits are base64 as well, which is what a Secret's data must be.
    return blake2b(msgspec.json.encode(value), key=key, digest_size=12).hexdigest()
