"""Takes secrets out of what is captured, and keeps which of them are equal.

    redact(resource, data, key, also) -> data

Always: fields that a kind calls sensitive (`Kind.sensitive`: of Secrets `data` and `stringData`) keep their keys, and
annotations that are named like a token or hold one; what kubectl remembers of a sensitive object in an annotation goes
the same way. On request (`also`): the data of ConfigMaps, and the values of environment variables wherever a pod or a
template of one stands, with what kubectl remembers of it. Each value becomes a keyed hash of it. The key is drawn for
each capture and thrown away: two values are the same in a file if they were the same on the plane, and nobody can try
out what they were. Nothing is decided on what is always taken out, so decisions come out the same. The name of a new
ReplicaSet follows from its template: without environment variables a decision that made one comes out otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from hashlib import blake2b
from typing import Any

import msgspec

from fairlead.core import codec
from fairlead.model.catalog import CATALOG

#: bound: plane | key with which a capture takes secrets out, in bytes | 400
CAPTURE_KEY_BYTES_MAX = 64
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


CONFIG_MAPS, ENV = "configmaps", "env"
ALSO = (CONFIG_MAPS, ENV)
_TOKEN_NAME = re.compile(r"(token|password|passwd|secret|credential|api-?key)s?$", re.IGNORECASE)
_TOKEN = re.compile(r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|bearer\s+\S{8,}", re.IGNORECASE)
_ANNOTATIONS, _ENV_FIELD = b'"annotations"', b'"env"'


def redact(resource: str, data: bytes, key: bytes, also: Collection[str] = ()) -> bytes:
    kind = CATALOG.of_resource(resource)
    fields = kind.sensitive if kind is not None else ()
    if resource == "configmaps" and CONFIG_MAPS in also:
        fields = ("data", "binaryData")
    has_env = ENV in also and _ENV_FIELD in data
    if not fields and not has_env and _ANNOTATIONS not in data:
        return data
    parts: dict[str, Any] = dict(_PARTS.decode(data))
    changed = [field for field in fields if field in parts]
    for field in changed:
        parts[field] = _hidden(codec.decode(bytes(parts[field])), key)
    if has_env:
        for field in [each for each in parts if each != "metadata" and _ENV_FIELD in bytes(parts[each])]:
            parts[field] = _without_env(codec.decode(bytes(parts[field])), key)
    metadata = codec.decode(bytes(parts["metadata"])) if "metadata" in parts else {}
    annotations = metadata.get("annotations") or {}
    for name in annotations:
        if (name == _LAST_APPLIED and (changed or has_env)) or _is_token(name, annotations[name]):
            annotations[name] = _hidden(annotations[name], key)
            changed.append(name)
            parts["metadata"] = metadata
    return msgspec.json.encode(parts) if changed or has_env else data


def _is_token(name: str, value: Any) -> bool:
    return _TOKEN_NAME.search(name) is not None or (
        isinstance(value, str) and _TOKEN.search(value) is not None
    )


def _without_env(value: Any, key: bytes) -> Any:
    if isinstance(value, list):
        return [_without_env(each, key) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: _without_env(each, key) for name, each in value.items()}
    if isinstance(found.get("env"), list):
        found["env"] = [
            {**each, "value": _hidden(each["value"], key)}
            if isinstance(each, dict) and "value" in each
            else each
            for each in found["env"]
        ]
    return found


def _hidden(value: Any, key: bytes) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(each, key) for name, each in value.items()}
    if isinstance(value, list):
        return [_hidden(each, key) for each in value]
    # 24 hex digits are base64 as well, which is what a Secret's data must be.
    return blake2b(msgspec.json.encode(value), key=key, digest_size=12).hexdigest()
