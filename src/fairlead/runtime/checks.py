"""The answer of /readyz and its like, of servers and of `fairlead control`: a line per check, in Kubernetes' words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.control.diagnosis import Check
from fairlead.port.request import Reply

_TEXT = "text/plain; charset=utf-8"
_CHECK_SHOWN_MAX = 63


def told(
    name: str,
    checks: Iterable[Check],
    query: Mapping[str, str],
    gating: frozenset[str],
    notes: tuple[str, ...] = (),
) -> Reply:
    """Line by line, in Kubernetes' words; `ok` alone if all is well and nobody asks for more. `gating`: the checks
    that decide on the status of the answer."""
    checks = tuple(checks)
    excluded = set(filter(None, query.get("exclude", "").split(",")))
    lines = []
    for check, problem in checks:
        if check in excluded:
            lines.append(f"[+]{check} excluded: ok")
        else:
            lines.append(f"[-]{check} failed: {problem}" if problem else f"[+]{check} ok")
    if unknown := sorted(excluded - {each.name for each in checks}):
        shown = ",".join(f'"{each[:_CHECK_SHOWN_MAX]}"' for each in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}")
    lines += [f"warn: {each}" for each in notes]
    failed = {each.name for each in checks if each.problem} - excluded
    healthy = not failed & gating
    if not failed and "verbose" not in query:
        return Reply(200, b"ok", _TEXT)
    apart = ": the API serves, the control plane does not work as it should" if healthy and failed else ""
    lines.append(f"{name} check {'passed' if healthy else 'failed'}{apart}")
    return Reply(200 if healthy else 503, "\n".join(lines).encode() + b"\n", _TEXT)
