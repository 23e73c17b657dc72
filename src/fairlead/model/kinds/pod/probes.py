"""Validation of probes and lifecycle hooks: exactly one handler, sensible numbers.

Called by `containers.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.names import name_problems, port_name_problems

_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
PORT_RANGE = "must be between 1 and 65535, inclusive"
_NOT_NEGATIVE = "must be greater than or equal to 0"


def validate_probes(container: Json, path: str, grace_seconds: int, problems: Problems) -> None:
    """The three probes of a container."""
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(field)
        if probe is None:
            continue
        at = f"{path}.{field}"
        _validate_handler(probe, _PROBE_HANDLERS, at, problems)
        for number in (
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ):
            value = probe.get(number, 0)
            if value < 0:
                problems.invalid(f"{at}.{number}", value, _NOT_NEGATIVE)
        _validate_own_grace(probe, field, at, problems)
        if field != "readinessProbe" and probe.get("successThreshold", 1) != 1:
            problems.invalid(f"{at}.successThreshold", probe["successThreshold"], "must be 1")
    lifecycle = container.get("lifecycle")
    if lifecycle:
        _validate_lifecycle(lifecycle, f"{path}.lifecycle", grace_seconds, problems)


def _validate_own_grace(probe: Json, field: str, path: str, problems: Problems) -> None:
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is None:
        return
    at = f"{path}.terminationGracePeriodSeconds"
    if field == "readinessProbe":
        problems.invalid(at, grace, "must not be set for readinessProbes")
    elif grace <= 0:
        problems.invalid(at, grace, "must be greater than 0")


def _validate_lifecycle(lifecycle: Json, path: str, grace_seconds: int, problems: Problems) -> None:
    for field in ("postStart", "preStop"):
        hook = lifecycle.get(field)
        if hook is None:
            continue
        at = f"{path}.{field}"
        _validate_handler(hook, _HOOK_HANDLERS, at, problems)
        sleep = hook.get("sleep")
        if sleep is not None:
            seconds = sleep.get("seconds", 0)
            if not 0 <= seconds <= grace_seconds:
                text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
                problems.invalid(f"{at}.sleep", seconds, text)


def _validate_handler(handler: Json, kinds: tuple[str, ...], path: str, problems: Problems) -> None:
    found = 0
    for kind in kinds:
        action = handler.get(kind)
        if action is None:
            continue
        found += 1
        at = f"{path}.{kind}"
        if found > 1:
            problems.forbidden(at, "may not specify more than 1 handler type")
        elif kind == "exec":
            if not action.get("command"):
                problems.required(f"{at}.command")
        elif kind == "httpGet":
            _validate_http(action, at, problems)
        elif kind in ("tcpSocket", "grpc"):
            _validate_port(action.get("port"), f"{at}.port", problems)
    if not found:
        problems.required(path, "must specify a handler type")


def _validate_http(action: Json, path: str, problems: Problems) -> None:
    _validate_port(action.get("port"), f"{path}.port", problems)
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        for text in name_problems("http-header", name):
            problems.invalid(f"{path}.httpHeaders", name, text)


def _validate_port(port: Any, path: str, problems: Problems) -> None:
    if isinstance(port, str):
        for text in port_name_problems(port):
            problems.invalid(path, port, text)
    elif port is None or not 0 < port < 65536:
        problems.invalid(path, port, PORT_RANGE)
