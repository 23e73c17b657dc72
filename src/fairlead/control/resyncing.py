"""Which keys a controller looks at when everything is looked at again. Asked by `controller.py` when leadership is won,
and from time to time after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fairlead.cache.view import MirrorView
from fairlead.control.complaints import try_call
from fairlead.decision.decider import Decider, WatchEvent, key_of
from fairlead.model.key import Key
from fairlead.model.views import View

Complain = Callable[[str, Exception], None]


def keys_of_all(
    decider: Decider, view: MirrorView, objects: Iterable[View], complain: Complain
) -> Sequence[Key]:
    """Those that a Decider calls unsettled, or else those that each object of its kind wakes: what is not there needs
    no turn. Where the Decider raises it names none, and the next resync asks again."""

    def named(keys: Sequence[Key] | Exception) -> Sequence[Key]:
        if isinstance(keys, Exception):
            complain("naming keys", keys)
            return ()
        return keys

    if decider.unsettled is not None:
        return named(try_call(_all_of, decider.unsettled, view))
    resource = decider.reads[0].name
    found: dict[Key, None] = {}
    for each in objects:
        event = WatchEvent(view, key_of(resource, each), None, each)
        found.update(dict.fromkeys(named(try_call(_all_of, decider.woken_by, event))))
    return tuple(found)


def _all_of(ask: Callable[..., Iterable[Key]], *arguments: object) -> Sequence[Key]:
    """With whatever it raises on the way."""
    return tuple(ask(*arguments))
