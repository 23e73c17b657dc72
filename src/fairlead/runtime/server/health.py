"""/livez, /readyz and /healthz: whether the API serves, and, told apart, whether the control plane behind it works.

    ping, store                           the service: if one fails, the answer is 503
    room                                  the disk: if it is full, that is said, and the answer stays 200
    leader, mirrors, controllers, breaker the control plane: if one fails, it is said, and the answer stays 200

A probe acts on the status. What it can do about a failure is to restart the server or to send clients elsewhere, and
neither helps a plane whose controllers are behind: it would take away the API by which people find out and repair, and
workloads that run do not need the plane (laws.md 12). So the service alone decides on the status; but a plane that does
not work is never passed over in silence: the body says `ok` only if all is well, and each check has an address of its
own (/readyz/controllers), which answers 503, for those who want to be alarmed. `?exclude=` leaves checks out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fairlead.api.access.sight import Sight
from fairlead.api.plan import Context
from fairlead.control.diagnosis import Check
from fairlead.core.errors import NotFound
from fairlead.core.times import timestamp
from fairlead.port.request import Reply
from fairlead.runtime.checks import told
from fairlead.store.damage import describe_damage
from fairlead.store.machine import Store
from fairlead.store.phases import StorePhase
from fairlead.wire.documents import Extension

_DAMAGE_SHOWN_MAX = 16
_LIVE = "livez"


def health(store: Store, plane_checks: Callable[[], tuple[Check, ...]]) -> Extension:
    """/livez: the process answers. /readyz and /healthz: it also can write; and what of the plane does not work."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        _, name, *below = path.split("/")
        checks: tuple[Check, ...] = (Check("ping"),)
        notes: tuple[str, ...] = ()
        if name != _LIVE:
            halted = store.phase in (StorePhase.HALTED, StorePhase.REREADING)
            checks += (Check("store", "the journal does not take writes" if halted else ""),)
            if store.damaged or store.lost:
                notes = tuple(damage_told(store))
        gating = frozenset(each.name for each in checks)
        if name != _LIVE:
            checks += (Check("room", store.short), *plane_checks())
        if below:
            checks = tuple(each for each in checks if each.name in below)
            if len(checks) != len(below):
                raise NotFound(f"the server could not find the requested resource: {name} has no such check")
            gating = frozenset(below)
        return told(name, checks, query, gating, notes)

    return answer


def damage_told(store: Store) -> Iterator[str]:
    """What is known of damage, a sentence each, the first few: nobody is kept from being served by it."""
    for lost in store.lost[-_DAMAGE_SHOWN_MAX:]:
        yield f"revisions {lost.after + 1} to {lost.until - 1} were lost, as far as they were given out: {lost.why}"
    for key in sorted(store.damaged)[:_DAMAGE_SHOWN_MAX]:
        damaged = store.damaged[key]
        yield f"{describe_damage(damaged)} (known since {timestamp(damaged.since)})"
    if len(store.damaged) > _DAMAGE_SHOWN_MAX:
        yield f"{len(store.damaged) - _DAMAGE_SHOWN_MAX} more objects are damaged"
