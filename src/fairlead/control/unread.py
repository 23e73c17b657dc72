"""What becomes of a decision that rested on an object which is there and cannot be read: it waits, and says for what.

Called by `controller.py`. What is not understood must not be taken for what is not there; when the object is repaired,
restored or given up by people, the key is decided again. A resource that could not be listed is waited for in the same
way; the plane looks again when it is (`plane.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.decision.contract import Decision, EventNote, Reading, Regarding, Waiting
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.views import Stored

#: bound: plane | a decision that rests on an unreadable object is looked at again after | -
UNREADABLE_SECONDS = 10.0  # until it is looked again
_UNLISTED_SECONDS = 60.0  # the same, where a whole resource is missing: many may wait for it
_SHOWN = 3
REASON = "Unreadable"


def wait_until_readable(
    decider: Decider, view: Reading, key: Key, missed: Sequence[Key], now: float
) -> Decision:
    names = ", ".join("/".join(each) if each.name else each.resource for each in missed[:_SHOWN])
    message = f"not carried out, because {names} could not be read"
    if not any(each.name for each in missed):
        return Decision(Waiting(REASON, message), (), now + _UNLISTED_SECONDS)
    return Decision(
        Waiting(REASON, message), (), now + UNREADABLE_SECONDS, _told(decider, view, key, message)
    )


def _told(decider: Decider, view: Reading, key: Key, message: str) -> tuple[EventNote, ...]:
    """An event beside the object that waits, unless that is the one which cannot be read."""
    for resource in decider.reads:
        if resource.name != key.resource:
            continue
        found: Any = view.get(resource, key.namespace, key.name)
        if found is None:
            break
        uid = found.uid if isinstance(found, Stored) else found.metadata.uid
        regarding = Regarding(resource.api_version, resource.kind, key.namespace, key.name, uid)
        return (EventNote(regarding, "Warning", REASON, message, occasion=message),)
    return ()
