"""Secret: sensitive values, by key. Values never appear in messages, audit or logs (`sensitive`).

Clients may write plain text in `stringData`; the defaults move it into `data`, so it is never stored or
read back. Some types promise certain keys to their readers, and the promise is checked here.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.keyed_data import TOTAL_BYTES_MAX, decoded_bytes, validate_frozen, validate_keys
from fairlead.model.metadata import metadata_warnings, validate_immutable

_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"
_REQUIRED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON_TYPES = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")
_REDACTED = "<secret contents redacted>"


def _defaults(secret: Json) -> None:
    if not secret.get("type"):
        secret["type"] = "Opaque"
    plain = secret.pop("stringData", None)
    if plain:
        data = secret.get("data")
        if data is None:
            data = secret["data"] = {}
        for key, value in plain.items():
            data[key] = base64.b64encode((value or "").encode(errors="surrogatepass")).decode()


def _validate(secret: Json, problems: Problems) -> None:
    data: Json = secret.get("data") or {}
    validate_keys(data, "data", problems)
    if sum(decoded_bytes(value) for value in data.values()) > TOTAL_BYTES_MAX:
        problems.too_long("data", TOTAL_BYTES_MAX)
    kind = secret.get("type") or ""
    if kind == _ACCOUNT_TOKEN:
        if not ((secret.get("metadata") or {}).get("annotations") or {}).get(_ACCOUNT_NAME):
            problems.required(f"metadata.annotations[{_ACCOUNT_NAME}]")
    elif kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        problems.required("data[username]")
        problems.required("data[password]")
    for key in _REQUIRED_KEYS.get(kind, ()):
        if key not in data or (kind == "kubernetes.io/ssh-auth" and not data[key]):
            problems.required(f"data[{key}]")
        elif kind in _JSON_TYPES and not _is_json(data[key]):
            problems.invalid(f"data[{key}]", _REDACTED, "must be valid JSON")


def _is_json(encoded: str | None) -> bool:
    try:
        msgspec.json.decode(base64.b64decode(encoded or ""), type=dict)
    except (msgspec.DecodeError, binascii.Error, RecursionError):
        return False
    return True


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    validate_immutable(new.get("type"), old.get("type"), "type", problems)
    validate_frozen(new, old, ("data",), problems)


def _type(secret: Json) -> str:
    return secret.get("type") or ""


def _type_cell(secret: Json, now: float) -> Cell:
    return _type(secret)


def _count(secret: Json, now: float) -> Cell:
    return len(secret.get("data") or ())


KIND = Kind(
    group="",
    version="v1",
    kind="Secret",
    plural="secrets",
    namespaced=True,
    schema="Secret",
    columns=(
        Column("Type", _type_cell, description="What the keys mean."),
        Column("Data", _count, type="string", description="Number of keys."),
        AGE,
    ),
    generation=False,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    selectable={"type": _type},
    sensitive=("data", "stringData"),
    warnings=metadata_warnings,
)
