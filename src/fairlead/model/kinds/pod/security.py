"""Validation of security contexts of pods and containers: ids in range, profiles complete, no contradictions.

Called by `validation.py` and `containers.py`. What a namespace allows is admission's business.
"""

from __future__ import annotations

import re

from fairlead.core.problems import Problems
from fairlead.model.kind import Json

_ID_RANGE = "must be between 0 and 2147483647, inclusive"
_ID_MAX = 2147483647
_SYSCTL = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")


def validate_pod_security(context: Json, spec: Json, path: str, problems: Problems) -> None:
    """`spec.securityContext` and the host fields that belong to it."""
    for field in ("runAsUser", "runAsGroup", "fsGroup"):
        _validate_id(context.get(field), f"{path}.{field}", problems)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        _validate_id(group, f"{path}.supplementalGroups[{index}]", problems)
    _validate_sysctls(context.get("sysctls") or [], f"{path}.sysctls", problems)
    _validate_profiles(context, path, problems)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        problems.invalid(f"{path}.shareProcessNamespace", True, text)


def validate_container_security(context: Json, path: str, problems: Problems) -> None:
    """A container's `securityContext`."""
    for field in ("runAsUser", "runAsGroup"):
        _validate_id(context.get(field), f"{path}.{field}", problems)
    _validate_profiles(context, path, problems)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            problems.invalid(path, context, text)
        if "SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            problems.invalid(path, context, text)


def _validate_id(number: int | None, path: str, problems: Problems) -> None:
    if number is not None and not 0 <= number <= _ID_MAX:
        problems.invalid(path, number, _ID_RANGE)


def _validate_profiles(context: Json, path: str, problems: Problems) -> None:
    for field in ("seccompProfile", "appArmorProfile"):
        profile = context.get(field)
        if profile is None:
            continue
        kind, local = profile.get("type"), profile.get("localhostProfile")
        if kind == "Localhost" and not local:
            text = "must be set when seccomp type is Localhost"
            if field == "appArmorProfile":
                text = "must be set when AppArmor type is Localhost"
            problems.required(f"{path}.{field}.localhostProfile", text)
        elif kind != "Localhost" and local is not None:
            text = "can only be set when seccomp type is Localhost"
            if field == "appArmorProfile":
                text = "can only be set when AppArmor type is Localhost"
            problems.invalid(f"{path}.{field}.localhostProfile", local, text)


def _validate_sysctls(sysctls: list[Json], path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name = sysctl.get("name")
        at = f"{path}[{index}].name"
        if not name:
            problems.required(at)
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            text = "must have at most 253 characters and match regex " + _SYSCTL.pattern
            problems.invalid(at, name, text)
        elif name in seen:
            problems.duplicate(at, name)
        seen.add(name or "")
