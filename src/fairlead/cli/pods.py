"""What the verbs about placing pods share: how pods and nodes are named, how scores are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.cli.client import ApiClient
from fairlead.cli.objects import NamedObject, exists, not_found, resolve_object
from fairlead.core.errors import NotFound, UsageError
from fairlead.model.names import subdomain_problems


def named_pod(client: ApiClient, typed: str, namespace: str | None) -> NamedObject:
    """`pod/web`, `po/web`, `pods/shop/web` or `web`."""
    found = resolve_object(client, typed, namespace, default="pods")
    if (found.resource.group, found.resource.plural) != ("", "pods"):
        raise UsageError(f"{typed!r}: placements are explained of pods: use pod/NAME")
    if subdomain_problems(found.name):
        raise UsageError(f"{typed!r} does not name a pod: use pod/NAME")
    return found


def named_node(client: ApiClient, typed: str) -> NamedObject:
    """`node/n1`, `no/n1` or `n1`."""
    found = resolve_object(client, typed, None, default="nodes")
    if (found.resource.group, found.resource.plural) != ("", "nodes") or subdomain_problems(found.name):
        raise UsageError(f"{typed!r} does not name a node: use NAME or node/NAME")
    return found


def ask(client: ApiClient, path: str, query: dict[str, str], about: Sequence[NamedObject]) -> dict[str, Any]:
    """GET what is about objects; if one of them is not there, the error says what is."""
    try:
        return client.get(path, query)
    except NotFound as error:
        for each in about:
            if not exists(client, each):
                raise not_found(client, [each]) from error
        raise


def score_header(plugins: Sequence[str], weights: dict[str, int]) -> tuple[str, ...]:
    """One column per plugin, with its weight."""
    titles = (f"{name} x{weights[name]}" if name in weights else name for name in plugins)
    return ("NODE", *titles, "TOTAL")


def score_row(scored: dict[str, Any], plugins: Sequence[str]) -> tuple[Any, ...]:
    return (scored["node"], *(scored["parts"].get(name, 0) for name in plugins), scored["total"])
