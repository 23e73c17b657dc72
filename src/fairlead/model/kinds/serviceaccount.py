"""ServiceAccount: an identity for the processes in pods.

Everything about it is structure; nothing is defaulted.
"""

from __future__ import annotations

from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.metadata import metadata_warnings

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


def _secrets(account: Json, now: float) -> Cell:
    return len(account.get("secrets") or ())


def _warnings(account: Json) -> list[str]:
    found = metadata_warnings(account)
    if _MOUNTABLE in ((account.get("metadata") or {}).get("annotations") or {}):
        found.append(
            f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; "
            "prefer separate namespaces to isolate access to mounted secrets"
        )
    return found


KIND = Kind(
    group="",
    version="v1",
    kind="ServiceAccount",
    plural="serviceaccounts",
    namespaced=True,
    schema="ServiceAccount",
    subresources=("token",),
    shows_deleted=True,
    short_names=("sa",),
    columns=(Column("Secrets", _secrets, type="string", description="Number of secrets it may mount."), AGE),
    generation=False,
    warnings=_warnings,
)
