"""How `fairlead overrides --object` tells whose word counts for each field, and who wrote past an override by hand."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from fairlead.cli.audit import PATH as AUDIT
from fairlead.cli.authoritative import AskedFields, Authority, OverriddenField, ask, mark_of
from fairlead.cli.client import ApiClient
from fairlead.cli.log_lines import LogLines
from fairlead.cli.output import hint, print_json, print_table
from fairlead.cli.override.deeds import Deeds, PlaceContents
from fairlead.cli.override.report import print_edits
from fairlead.cli.override.verb import KUBE_SYSTEM, path_of
from fairlead.core.errors import ApiError, Forbidden

Json = dict[str, Any]
_HEADER = ("FIELD", "AUTHORITY", "UNTIL", "WRITTEN BY", "WRITTEN BACK BY")


def tell(client: ApiClient, options: argparse.Namespace) -> int:
    asked = ask(client, options.object, options.namespace, lambda space: _overrides(client, space))
    edits = _edits(client, asked)
    if options.output == "json":
        fields = [each.as_json() for each in asked.fields]
        print_json({"object": asked.path, "fields": fields, "edits": edits})
        return 0
    print_table(_HEADER, [_row(each) for each in asked.fields])
    for told in dict.fromkeys(_meaning(each) for field in asked.fields for each in field.held):
        print(told)
    print_edits(edits)
    return 0


def _meaning(held: OverriddenField) -> str:
    spec = held.override["spec"]
    ends = f"until {spec['expiresAt']}, by {spec.get('owner')}: {spec['reason']}"
    return f"  {mark_of(held.override)} {held.row.change}: {held.row.means} ({ends})"


def _overrides(client: ApiClient, namespace: str) -> list[Json]:
    """Those that may bear on the object: of its namespace and of the cluster. Who may not read some is told so."""
    found: list[Json] = []
    for space in dict.fromkeys(each for each in (namespace, KUBE_SYSTEM) if each):
        try:
            found += client.get(path_of(space)).get("items") or []
        except Forbidden as error:
            hint(f"overrides in {space} are left out: {error}")
    return found


def _row(each: Authority) -> tuple[Any, ...]:
    return (
        each.field,
        each.authority,
        max((held.override["spec"]["expiresAt"] for held in each.held), default=None),  # holds add up
        ", ".join(each.managers) or None,
        ", ".join(dict.fromkeys(one.partition(":")[0] for one in each.reverts)) or None,
    )


def _edits(client: ApiClient, asked: AskedFields) -> list[Json]:
    overrides = {mark_of(each.override): each.override for field in asked.fields for each in field.held}
    if not overrides:
        return []
    try:
        lines = [item["record"] for item in LogLines(client, AUDIT).read()]
    except ApiError as error:
        hint(f"what was written by hand is not told, as the audit log cannot be read: {error}")
        return []
    return list(_edits_of(overrides.values(), lines, asked.path))


def _edits_of(overrides: Iterable[Json], lines: list[Json], path: str) -> Iterable[Json]:
    """Each with the override that it went past; of several that hold the same, with each of them."""
    for each in overrides:
        yield from Deeds(each, each["spec"]["expiresAt"], lines, (), PlaceContents()).edits(path)
