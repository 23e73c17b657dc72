"""Of what a generated world ends in, the part that does not depend on when things happened.

A generated world does not avoid races as the fixed ones do. Left out are: how often a template was rolled out, and what
is kept of one that was replaced before it was seen (revisions, sets that want no pods); objects that people could make
or not, depending on what became of others; and where several want what only some can have, all but whether the objects
that people made are there.
"""

from __future__ import annotations

import re

from fairlead.model.key import Key
from fairlead.sim.endstate import EndState

_ROLLOUT = re.compile(r", rollout \w+")
_KEPT = "wants 0 of "
_MADE = (
    "replicasets.apps/",
    "jobs.batch/",
    "pods:",
    "configmaps/",
    "serviceaccounts/",
    "events/",
    "reservations",
)


def compared(undecided: frozenset[Key], contends: bool, found: EndState) -> EndState:
    names = {"/".join(key) for key in undecided}
    kept = {
        name: _ROLLOUT.sub("", line)
        for name, line in found.items()
        if name not in names and not name.startswith("controllerrevisions") and not _is_history(name, line)
    }
    if contends:
        return {name: "is there" for name in kept if not name.startswith(_MADE)}
    return kept


def _is_history(name: str, line: str) -> bool:
    return name.startswith("replicasets") and line.startswith(_KEPT)
