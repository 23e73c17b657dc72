"""What the verbs about placing pods share: how a pod is named, how scores are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.core.errors import UsageError
from fairlead.model.names import subdomain_problems

_WORDS = ("pod", "pods", "po")


def pod_name(typed: str) -> str:
    """`pod/web`, `pods/web`, `po/web` or `web`."""
    kind, slash, name = typed.rpartition("/")
    if slash and kind.lower() not in _WORDS:
        raise UsageError(f"{typed!r}: placements are explained of pods: use pod/NAME")
    if subdomain_problems(name):
        raise UsageError(f"{typed!r} does not name a pod: use pod/NAME")
    return name


def score_header(plugins: Sequence[str], weights: dict[str, int]) -> tuple[str, ...]:
    """One column per plugin, with its weight."""
    titles = (f"{name} x{weights[name]}" if name in weights else name for name in plugins)
    return ("NODE", *titles, "TOTAL")


def score_row(scored: dict[str, Any], plugins: Sequence[str]) -> tuple[Any, ...]:
    return (scored["node"], *(scored["parts"].get(name, 0) for name in plugins), scored["total"])
