"""What a recorded decision was made on, collected from a running server: the controllers, and the store's history at
the revisions that its record names. Called by `answer.py` and `diffing.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.control.roster import default_deciders
from fairlead.explain.asking import Asking
from fairlead.explain.sources import Sources
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.replay.cast import Cast
from fairlead.replay.difference import (
    Inputs,
)
from fairlead.store.contract import Compacted, Entry, FutureRevision

Json = dict[str, Any]


def cast_of(sources: Sources) -> Cast:
    """The controllers that run, made anew: those at work must not learn of kinds of the past."""
    usual = default_deciders()
    known = {each.name for each in usual}
    further = (each.decider for each in sources.plane.controllers if each.decider.name not in known)
    return Cast((*usual, *further))


def inputs_of(sources: Sources, record: Json) -> Asking[Inputs | str]:
    """Everything that it read, as it was; or why that cannot be had."""
    found: dict[str, tuple[int, tuple[Entry, ...]]] = {}
    reads = {name: used for name, (used, _) in (record.get("reads") or {}).items()}
    if kinds := (record.get("heard") or {}).get("kinds"):
        reads.setdefault(DEFINITIONS, kinds)
    try:
        for name, used in reads.items():
            entries = sources.reader.list_at(name, "", used) if used else ()
            found[name] = used, tuple(entries)
            yield None
    except Compacted as error:
        return f"its inputs are compacted: revision {error.asked} is older than the history kept"
    except FutureRevision:
        return "its inputs are not in this store: the record names a revision that is still to come"
    return found
