"""Options of verbs in Kubernetes' words, checked: each refusal names the option, the bad value and what is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from fairlead.core.errors import BadRequest, Cause, Invalid
from fairlead.core.problems import show
from fairlead.port.query import parse_flag, parse_whole

#: bound: requests | length of `fieldManager` | 422
FIELD_MANAGER_MAX = 128
_PATCH = "PatchOptions"


def dry_run(query: Mapping[str, str]) -> bool:
    text = query.get("dryRun")
    if not text:
        return False
    if text != "All":
        raise BadRequest(f'query parameter dryRun: {show(text)} is not supported; the only value is "All"')
    return True


def field_validation(query: Mapping[str, str]) -> str:
    level = query.get("fieldValidation") or "Warn"
    if level not in ("Ignore", "Warn", "Strict"):
        raise BadRequest(
            f'query parameter fieldValidation: {show(level)} is not supported; use "Ignore", "Warn" or "Strict"'
        )
    return level


def check_field_manager(query: Mapping[str, str], of: str = "UpdateOptions") -> None:
    """`of`: what Kubernetes calls the options of the verb."""
    manager = query.get("fieldManager", "")
    if len(manager.encode()) > FIELD_MANAGER_MAX:
        _refuse(
            of,
            "FieldValueTooLong",
            f"Too long: may not be more than {FIELD_MANAGER_MAX} bytes",
            "fieldManager",
        )
    if not manager.isprintable():
        text = f"Invalid value: {show(manager)}: should only contain printable characters"
        _refuse(of, "FieldValueInvalid", text, "fieldManager")


def check_apply(query: Mapping[str, str]) -> None:
    """Who applies must say who they are."""
    if not query.get("fieldManager"):
        _refuse(_PATCH, "FieldValueRequired", "Required value: is required for apply patch", "fieldManager")
    check_field_manager(query, _PATCH)


def check_patch(query: Mapping[str, str]) -> None:
    """Of a patch that is not applied."""
    check_field_manager(query, _PATCH)
    if parse_flag(query, "force") is not None:
        _refuse(_PATCH, "FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force")


def _refuse(of: str, reason: str, text: str, field: str) -> NoReturn:
    raise Invalid(
        f'{of}.meta.k8s.io "" is invalid: {field}: {text}',
        causes=(Cause(reason, text, field),),
        group="meta.k8s.io",
        kind=of,
    )


def parse_revision(query: Mapping[str, str]) -> int | None:
    """None for absent or empty: the newest. Revisions are numbers to us and opaque to clients."""
    return parse_whole(query, "resourceVersion", "is not a resourceVersion that this server gave out")
