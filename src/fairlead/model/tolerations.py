"""Whether a toleration covers a taint. Asked by the scheduler, the DaemonSet controller and node evidence alike."""

from __future__ import annotations

from fairlead.model.views import Toleration


def covers_taint(toleration: Toleration, key: str, value: str, effect: str) -> bool:
    """An empty effect covers every effect; an empty key, which only Exists may have, every key."""
    if toleration.effect and toleration.effect != effect:
        return False
    if toleration.key and toleration.key != key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == value
