"""What SchedulerOverrides are judged by, as far as it can be read. Asked by `overrides.py` and its parts.

People intervene when a plane is ill: one damaged object, perhaps of another namespace, keeps nobody from it. What could
not be looked at is counted in a warning, without its name: who may make an override may not see everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.api.attempt import Attempt
from fairlead.api.sound import sound_entries
from fairlead.store.contract import Entry


def readable(attempt: Attempt, resource: str, namespace: str = "") -> Sequence[Entry]:
    """Those that are not damaged."""
    damaged = sum(
        key.resource == resource and namespace in ("", key.namespace) for key in attempt.read.damaged
    )
    if damaged:
        told = (
            f"{damaged} of {resource} cannot be read and were left out of account; fairlead check tells which"
        )
        if told not in attempt.warnings:
            attempt.warnings.append(told)
    return sound_entries(attempt.read, resource, namespace)
