"""Events in Kubernetes' words, made from what a Decider decided. Used by Deciders; pure.

Most tell that an effect succeeded, so they are made from the effects themselves, after these were cut to what one turn
does: each note holds the place of its effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairlead.decision.contract import EventNote, Regarding
from fairlead.decision.effects import Create, Delete, Effect
from fairlead.model.views import PODS, Meta, Resource

NORMAL, WARNING = "Normal", "Warning"


def regarding_of(resource: Resource[Any], meta: Meta) -> Regarding:
    return Regarding(resource.api_version, resource.kind, meta.namespace, meta.name, meta.uid)


def note_children(
    regarding: Regarding,
    effects: Sequence[Effect],
    say: Callable[[str, str], str] | None = None,
    resource: Resource[Any] = PODS,
) -> tuple[EventNote, ...]:
    """`Created pod: x`, `Deleted pod: x` for each effect that makes or removes a child of this resource, or what
    `say("create" or "delete", name)` gives."""
    say = say or _pod
    notes = []
    for place, effect in enumerate(effects):
        if effect.resource != resource.name:
            continue
        if isinstance(effect, Create):
            text = say("create", effect.name)
            notes.append(EventNote(regarding, NORMAL, "SuccessfulCreate", text, place))
        elif isinstance(effect, Delete):
            text = say("delete", effect.name)
            notes.append(EventNote(regarding, NORMAL, "SuccessfulDelete", text, place))
    return tuple(notes)


def _pod(did: str, name: str) -> str:
    return f"{did.capitalize()}d pod: {name}"


def note_failure(
    regarding: Regarding, effect: Effect, trouble: str, say: Callable[[str, str, str], str] | None = None
) -> tuple[EventNote, ...]:
    """What to tell when a child could not be made or removed; nothing for other effects. `trouble` as a turn tells
    it: effect, name and reason, which the event shows by itself, then the API's message."""
    if not isinstance(effect, Create | Delete):
        return ()
    did, reason = ("create", "FailedCreate") if isinstance(effect, Create) else ("delete", "FailedDelete")
    head, *rest = trouble.split(": ", 2)
    why = rest[-1] if rest and head.startswith(f"{type(effect).__name__} ") else trouble
    text = say(did, effect.name, why) if say is not None else f"Error {did[:-1]}ing: {why}"
    return (EventNote(regarding, WARNING, reason, text),)
