"""Validation of a pod's volumes: unique names, exactly one source each, and what each source needs.

Called by `validation.py`, which uses the returned names to check the containers' mounts. Sources that
need a real storage system behind them are checked for being the only one, not in depth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.amounts import nanos
from fairlead.model.kinds.pod.references import validate_field_ref, validate_resource_ref
from fairlead.model.metadata import validate_listed_name
from fairlead.model.names import config_key_problems


def validate_volumes(volumes: list[Json], path: str, problems: Problems) -> set[str]:
    """Check every volume; the names found, right or wrong, come back for the mounts."""
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        validate_listed_name(volume.get("name"), f"{at}.name", names, problems)
        _validate_source(volume, at, problems)
    return names


def _validate_source(volume: Json, path: str, problems: Problems) -> None:
    found = 0
    for field, source in volume.items():
        if field == "name" or source is None:
            continue
        found += 1
        if found > 1:
            problems.forbidden(f"{path}.{field}", "may not specify more than 1 volume type")
            continue
        check = _SOURCES.get(field)
        if check is not None:
            check(source, f"{path}.{field}", problems)
    if not found:
        problems.required(path, "must specify a volume type")


def validate_relative_path(target: str, path: str, problems: Problems) -> None:
    """A path that stays below where it starts."""
    if target.startswith("/"):
        problems.invalid(path, target, "must be a relative path")
    if ".." in target.split("/"):
        problems.invalid(path, target, "must not contain '..'")


def _validate_mode(mode: int | None, path: str, problems: Problems) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        problems.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _validate_items(source: Json, path: str, problems: Problems) -> None:
    for index, item in enumerate(source.get("items") or ()):
        at = f"{path}.items[{index}]"
        if not item.get("key"):
            problems.required(f"{at}.key")
        else:
            for text in config_key_problems(item["key"]):
                problems.invalid(f"{at}.key", item["key"], text)
        _validate_item_path(item, at, problems)


def _validate_item_path(item: Json, path: str, problems: Problems) -> None:
    target = item.get("path")
    if not target:
        problems.required(f"{path}.path")
    else:
        validate_relative_path(target, f"{path}.path", problems)
        if target.startswith("..") and not target.startswith("../") and target != "..":
            problems.invalid(f"{path}.path", target, "must not start with '..'")
    _validate_mode(item.get("mode"), f"{path}.mode", problems)


def _named_files(name: str, source: Json, path: str, problems: Problems) -> None:
    """Of the object that the field `name` names."""
    if not source.get(name):
        problems.required(f"{path}.{name}")
    _validate_mode(source.get("defaultMode"), f"{path}.defaultMode", problems)
    _validate_items(source, path, problems)


def _downward(source: Json, path: str, problems: Problems) -> None:
    _validate_mode(source.get("defaultMode"), f"{path}.defaultMode", problems)
    for index, item in enumerate(source.get("items") or ()):
        at = f"{path}.items[{index}]"
        _validate_item_path(item, at, problems)
        field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
        if field is not None and resource is not None:
            problems.invalid(
                at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"
            )
        elif field is not None:
            validate_field_ref(field, f"{at}.fieldRef", problems, volume=True)
        elif resource is not None:
            validate_resource_ref(resource, f"{at}.resourceFieldRef", problems, volume=True)
        else:
            problems.required(at, "one of fieldRef and resourceFieldRef is required")


def _projected(source: Json, path: str, problems: Problems) -> None:
    _validate_mode(source.get("defaultMode"), f"{path}.defaultMode", problems)
    for index, part in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        given = [field for field, value in part.items() if value is not None]
        if len(given) > 1:
            problems.forbidden(f"{at}.{given[1]}", "may not specify more than 1 volume type per source")
        for field in ("secret", "configMap"):
            inner = part.get(field)
            if inner is not None:
                if not inner.get("name"):
                    problems.required(f"{at}.{field}.name")
                _validate_items(inner, f"{at}.{field}", problems)
        if part.get("downwardAPI") is not None:
            _downward(part["downwardAPI"], f"{at}.downwardAPI", problems)
        if part.get("serviceAccountToken") is not None:
            _token(part["serviceAccountToken"], f"{at}.serviceAccountToken", problems)


def _token(source: Json, path: str, problems: Problems) -> None:
    seconds = source.get("expirationSeconds", 3600)
    if seconds < 600:
        problems.invalid(
            f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"
        )
    if seconds > 1 << 32:
        problems.invalid(
            f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"
        )
    target = source.get("path")
    if not target:
        problems.required(f"{path}.path")
    else:
        validate_relative_path(target, f"{path}.path", problems)


def _host_path(source: Json, path: str, problems: Problems) -> None:
    target = source.get("path")
    if not target:
        problems.required(f"{path}.path")
    elif ".." in target.split("/"):
        problems.invalid(f"{path}.path", target, "must not contain '..'")


def _empty_dir(source: Json, path: str, problems: Problems) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and nanos(limit) < 0:
        problems.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _claim(source: Json, path: str, problems: Problems) -> None:
    if not source.get("claimName"):
        problems.required(f"{path}.claimName")


def _nfs(source: Json, path: str, problems: Problems) -> None:
    if not source.get("server"):
        problems.required(f"{path}.server")
    target = source.get("path")
    if not target:
        problems.required(f"{path}.path")
    elif not target.startswith("/"):
        problems.invalid(f"{path}.path", target, "must be an absolute path")


def _csi(source: Json, path: str, problems: Problems) -> None:
    if not source.get("driver"):
        problems.required(f"{path}.driver")


def _ephemeral(source: Json, path: str, problems: Problems) -> None:
    if source.get("volumeClaimTemplate") is None:
        problems.required(f"{path}.volumeClaimTemplate")


_SOURCES: dict[str, Callable[[Any, str, Problems], None]] = {
    "secret": partial(_named_files, "secretName"),
    "configMap": partial(_named_files, "name"),
    "downwardAPI": _downward,
    "projected": _projected,
    "hostPath": _host_path,
    "emptyDir": _empty_dir,
    "persistentVolumeClaim": _claim,
    "nfs": _nfs,
    "csi": _csi,
    "ephemeral": _ephemeral,
}
