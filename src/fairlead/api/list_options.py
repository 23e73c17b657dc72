"""How options of a list or a watch may be combined, in Kubernetes' words.

Called by both verbs before they read anything. A single option that makes no sense is 400 (`options.py`); a
combination that makes none is 422, with every problem at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.core.errors import Invalid
from fairlead.core.problems import Problems
from fairlead.port.query import parse_flag, parse_whole

_MATCH = "resourceVersionMatch"
_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"


def check_list(query: Mapping[str, str]) -> None:
    parse_whole(query, "timeoutSeconds")  # lists take no time worth limiting, but what is wrong is told
    match, problems = query.get(_MATCH, ""), Problems()
    if match:
        if not query.get("resourceVersion"):
            problems.forbidden(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided")
        if query.get("continue"):
            problems.forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided")
        if match not in (_EXACT, _NOT_OLDER):
            problems.unsupported(_MATCH, match, (_EXACT, _NOT_OLDER, ""))
        if match == _EXACT and query.get("resourceVersion") == "0":
            problems.forbidden(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"')
    if parse_flag(query, "sendInitialEvents") is not None:
        problems.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    _refuse(problems)


def check_watch(query: Mapping[str, str]) -> None:
    match, problems = query.get(_MATCH, ""), Problems()
    asked = parse_flag(query, "sendInitialEvents") is not None
    if asked and match != _NOT_OLDER:
        problems.forbidden(_MATCH, f"sendInitialEvents requires setting {_MATCH} to {_NOT_OLDER}")
    if match:
        if not asked:
            problems.forbidden(
                _MATCH, f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"
            )
        if match != _NOT_OLDER:
            problems.unsupported(_MATCH, match, (_NOT_OLDER,))
        if query.get("continue"):
            problems.forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided")
    _refuse(problems)


def _refuse(problems: Problems) -> None:
    if problems:
        raise Invalid(
            f'ListOptions.meta.k8s.io "" is invalid: {problems.summary()}',
            causes=tuple(problems.causes),
            group="meta.k8s.io",
            kind="ListOptions",
        )
