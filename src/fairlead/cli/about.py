"""Which records of a log `--object` and `-n` ask for; used by the verbs that read logs, `audit` and `decisions`.

A log knows objects that are gone, also of kinds that are gone: what a log knows is never an error.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.cli.client import ApiClient
from fairlead.cli.objects import NamedObject, Typed, exists, not_found, split_typed
from fairlead.cli.resources import ApiResource, resolve
from fairlead.core.errors import UsageError


class About(NamedTuple):
    """Matches everything if nothing was asked for."""

    typed: Typed
    resource: ApiResource | None  # None: unknown to the server, or all
    problem: UsageError | None

    def matches(self, resource: str, namespace: str, name: str) -> bool:
        """`resource` with its group, as in deployments.apps."""
        kind, there, wanted = self.typed
        return (
            (not kind or self._is_of_kind(resource))
            and (not there or namespace == there)
            and (not wanted or name == wanted)
        )

    def _is_of_kind(self, resource: str) -> bool:
        plural, _, group = resource.partition(".")
        if self.resource is None:
            return self.typed.kind.lower() in (plural, resource)
        said_group = "." in self.typed.kind
        return plural == self.resource.plural and (not said_group or group == self.resource.group)

    def check(self, client: ApiClient | None) -> None:
        """For what the log does not know: raises if the kind or the object does not exist either."""
        if self.problem is not None:
            raise self.problem
        if client is None or self.resource is None:
            return
        wanted = NamedObject(
            self.resource, self.typed.namespace if self.resource.namespaced else "", self.typed.name
        )
        if wanted.name and not exists(client, wanted):
            raise not_found(client, [wanted])


def asked_about(client: ApiClient, typed: str, namespace: str | None) -> About:
    if not typed:
        return About(Typed("", namespace or "", ""), None, None)
    words = split_typed(typed, namespace)
    try:
        return About(words, resolve(client, words.kind), None)
    except UsageError as error:
        return About(words, None, error)


def asked_about_offline(typed: str, namespace: str | None) -> About:
    """Without a server: kinds are those that Fairlead itself has; of others only the plural is known."""
    from fairlead.model.catalog import CATALOG  # brings every kind along

    if not typed:
        return About(Typed("", namespace or "", ""), None, None)
    words = split_typed(typed, namespace)
    word, _, group = words.kind.lower().partition(".")
    for kind in CATALOG:
        names = (kind.plural, kind.singular_name, kind.kind.lower(), *kind.short_names)
        if word in names and group in ("", kind.group):
            found = ApiResource(
                group=kind.group,
                version=kind.version,
                plural=kind.plural,
                singular=kind.singular_name,
                kind=kind.kind,
                namespaced=kind.namespaced,
            )
            return About(words, found, None)
    return About(words, None, UsageError(f'there is no kind "{words.kind}": write it as the table does'))
