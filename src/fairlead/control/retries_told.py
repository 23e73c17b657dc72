"""How each sort of act is tried again, as it is in force: seven properties and whose it is, for people to read.

Numbers are those of the settings in use; the rest is what the code does for that effect (`decision/effects.py`,
`control/turn.py`), said in words. Shown by `fairlead queues --retries`; a test looks that no effect lacks a property.
"""

from __future__ import annotations

import msgspec

from fairlead.control.settings import Settings
from fairlead.decision.effects import RETRY, Bind, Change, ChangeScale, ChangeStatus, Create, Delete, Finalize
from fairlead.model.policy import plane_knobs

_BY_REVISION = "the object's uid and revision: another, or a changed one, is not hit"
# What makes doing it twice doing it once, and what a look after an unknown outcome compares.
_IDENTITIES: dict[type, tuple[str, str]] = {
    Create: (
        "its name and the annotation fairlead.dev/operation, made of controller, owner, intent and number",
        "whether the object is there and carries the operation",
    ),
    Change: (_BY_REVISION, "whether the object is at a later revision"),
    ChangeStatus: (_BY_REVISION, "whether the object is at a later revision"),
    ChangeScale: (_BY_REVISION, "whether the object is at a later revision"),
    Finalize: (_BY_REVISION, "whether the object is gone or at a later revision"),
    Delete: (_BY_REVISION, "whether the object is gone or going"),
    Bind: ("the pod's uid: a pod has one binding in its life", "whether the pod has a node"),
}
_REASON = "the record's reason and outcome; on the object the condition fairlead.dev/WaitingFor, or an Event"
_OWNER = (
    "the controller that decided it, for the key in its queue, while its plane leads; nobody else repeats it"
)
_SCHEDULER_OWNER = "the scheduler, for the pod in its queue, while its plane leads; nobody else repeats it"
_SCHEDULER_REASON = "the record's outcome; the pod's condition PodScheduled, Event FailedScheduling"


class RetryInForce(msgspec.Struct, frozen=True, rename="camel"):
    """`void_after_seconds`: effects of one decision are begun for so long, then it is decided anew; a leader that is
    replaced cannot write at all; `void_after_by`: of controllers for which that is another time. `settings`: the entry
    of the PlaneSettings that the numbers come from."""

    action: str
    identity: str
    attempts_max: int
    backoff_seconds: float
    backoff_max_seconds: float
    jitter: float
    void_after_seconds: float
    fresh_read: str
    reason: str
    settings: str
    owner: str
    void_after_by: dict[str, float]


def retries_in_force(settings: Settings) -> tuple[RetryInForce, ...]:
    """A row for every effect there is."""
    rows = []
    void_after = settings.controller(plane_knobs.NAME).turn_seconds
    void_after_by = {
        name: seconds
        for name in sorted(settings.spec.get("controllers") or {})
        if (seconds := settings.controller(name).turn_seconds) != void_after
    }
    for effect in RETRY:
        name = effect.__name__[0].lower() + effect.__name__[1:]
        policy = settings.retries[effect]
        identity, looks_for = _IDENTITIES[effect]
        rows.append(
            RetryInForce(
                action=name,
                identity=identity,
                attempts_max=policy.attempts_max,
                backoff_seconds=policy.backoff_seconds,
                backoff_max_seconds=policy.backoff_max_seconds,
                jitter=policy.jitter,
                void_after_seconds=void_after,
                fresh_read=f"each attempt is a new decision on what is there; after no answer it looks {looks_for}",
                reason=_SCHEDULER_REASON if effect is Bind else _REASON,
                settings=plane_knobs.source(settings.spec, "retries", name),
                owner=_SCHEDULER_OWNER if effect is Bind else _OWNER,
                void_after_by=void_after_by,
            )
        )
    return tuple(rows)
