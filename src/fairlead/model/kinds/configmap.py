"""ConfigMap: settings as text or bytes, by key. What it shares with Secret is in `keyed_data.py`."""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.keyed_data import (
    TOTAL_BYTES_MAX,
    decoded_bytes,
    text_bytes,
    validate_frozen,
    validate_keys,
)
from fairlead.model.metadata import metadata_warnings


def _validate(config: Json, problems: Problems) -> None:
    data: Json = config.get("data") or {}
    binary: Json = config.get("binaryData") or {}
    validate_keys(data, "data", problems)
    validate_keys(binary, "binaryData", problems)
    for key in data:
        if key in binary:
            problems.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    size = sum(text_bytes(value) for value in data.values())
    size += sum(decoded_bytes(value) for value in binary.values())
    if size > TOTAL_BYTES_MAX:
        problems.too_long("", TOTAL_BYTES_MAX)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    validate_frozen(new, old, ("data", "binaryData"), problems)


def _count(config: Json, now: float) -> Cell:
    return len(config.get("data") or ()) + len(config.get("binaryData") or ())


KIND = Kind(
    group="",
    version="v1",
    kind="ConfigMap",
    plural="configmaps",
    namespaced=True,
    schema="ConfigMap",
    short_names=("cm",),
    columns=(Column("Data", _count, type="string", description="Number of keys."), AGE),
    generation=False,
    validate=_validate,
    validate_update=_validate_update,
    warnings=metadata_warnings,
)
