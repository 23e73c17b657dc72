"""Of what a generated world ends in, the part that does not depend on when things happened.

A generated world does not avoid races as the fixed ones do. Left out are: how often a template was rolled out, and what
is kept of one that was replaced before it was seen (revisions, sets that want no pods); and objects that people could
make or not, depending on what became of others; and overrides, which the world that it is compared with never had. A
rollout that was resumed says so, as in Kubernetes, until it progresses or is late: that counts as progressing.
Where several want what only some can have, nothing is compared
(`Scenario.contends`): what must hold then is for the checkers to say.
"""

from __future__ import annotations

import re

from fairlead.model.key import Key
from fairlead.sim.endstate import EndState
from fairlead.sim.generate.ingredients.control import but_for_overrides

_ROLLOUT = re.compile(r", rollout \w+")
_KEPT = "wants 0 of "
_RESUMED = "Progressing=Unknown", "Progressing=True"


def compared(undecided: frozenset[Key], found: EndState) -> EndState:
    names = {"/".join(key) for key in undecided}
    found = but_for_overrides(found)
    return {
        name: _ROLLOUT.sub("", line).replace(*_RESUMED)
        for name, line in found.items()
        if name not in names and not name.startswith("controllerrevisions") and not _is_history(name, line)
    }


def _is_history(name: str, line: str) -> bool:
    return name.startswith("replicasets") and line.startswith(_KEPT)
