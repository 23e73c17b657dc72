"""What SchedulerOverrides are judged by, as far as it can be read. Asked by `steps.py` and its parts.

People intervene when a plane is ill: one damaged object, perhaps of another namespace, keeps nobody from it. What could
not be looked at is counted in a warning, without its name: who may make an override may not see everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.api.attempt import Attempt
from fairlead.api.sound_reader import sound_entries
from fairlead.model.key import Key
from fairlead.store.contract import Entry


def readable(attempt: Attempt, resource: str, namespace: str = "") -> Sequence[Entry]:
    """Those that are not damaged."""
    damaged = sum(
        key.resource == resource and namespace in ("", key.namespace) for key in attempt.read.damaged
    )
    if damaged:
        _warn(attempt, resource, damaged)
    return sound_entries(attempt.read, resource, namespace)


def readable_one(attempt: Attempt, key: Key) -> Entry | None:
    """Of what an override is judged by and does not name itself; None if it is not there, or damaged."""
    if key in attempt.read.damaged:
        _warn(attempt, key.resource, 1)
        return None
    return attempt.read.get(key)


def _warn(attempt: Attempt, resource: str, damaged: int) -> None:
    told = f"{damaged} of {resource} cannot be read and were left out of account; fairlead check tells which"
    if told not in attempt.warnings:
        attempt.warnings.append(told)
