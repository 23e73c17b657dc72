"""Which overrides go on holding what another held. Asked by `verb.py` when one is ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.cli.client import ApiClient
from fairlead.core.errors import FairleadError
from fairlead.core.times import parse_time
from fairlead.model.kinds.scheduleroverride import APPROVED, changed_fields

Json = dict[str, Any]


def holding_beside(client: ApiClient, path: str, ended: Json, now: float) -> str:
    """`path`: of all in its namespace. Who may end an override need not be allowed to list them, and that it has ended
    is told whether the server answers this question or not."""
    try:
        known = client.get(path)["items"]
    except FairleadError:
        return ""
    return still_holding(known, ended, now)


def still_holding(known: Iterable[Json], ended: Json, now: float) -> str:
    """Those of the same target that say the same as one that has ended, with whose they are; "": there are none."""
    spec = ended["spec"]
    said = {*changed_fields(spec)}
    return ", ".join(
        f"{each['metadata']['name']} of {each['spec'].get('owner')}"
        for each in known
        if "spec" in each  # one that is damaged in the store has none
        and each["metadata"]["uid"] != ended["metadata"]["uid"]
        and each["spec"]["target"] == spec["target"]
        and said & {*changed_fields(each["spec"])}
        and parse_time(each["spec"]["expiresAt"]) > now
        and (not each["spec"].get("approval") or _is_approved(each))
    )


def _is_approved(override: Json) -> bool:
    conditions = (override.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == (APPROVED, "True") for each in conditions)
