"""When a hollow node falls silent: what its annotations say, as a pure function of the Node and an instant.

    hollow.fairlead.dev/silent-after: 60s    silent from the 60th second of its life on; 0s: at once
    hollow.fairlead.dev/flaps: 20s           heard for 20 s, silent for 20 s, and so on, as long as it lives

A silent node renews no lease (`beats.py`) and says nothing of its pods (`decider.py`): seen from the server it is
cut off. Its life is counted from the creation of the Node, so that nobody need remember anything. Both may be given.
"""

from __future__ import annotations

import math

from fairlead.core.times import SECOND, parse_duration, parse_time
from fairlead.model.views import Node

SILENT_AFTER = "hollow.fairlead.dev/silent-after"
FLAPS = "hollow.fairlead.dev/flaps"
NEVER = math.inf


def silent_until(node: Node, now: float) -> float:
    """When a node that is silent now will be heard again, NEVER if it will not; 0 if it is not silent."""
    annotations = node.metadata.annotations
    after = _seconds(annotations.get(SILENT_AFTER))
    each = _seconds(annotations.get(FLAPS))
    if after is None and not each:
        return 0.0
    created = parse_time(node.metadata.creation_timestamp) if node.metadata.creation_timestamp else now
    age = max(0.0, now - created)
    if after is not None and age >= after:
        return NEVER
    if each:
        turn = math.floor(age / each)
        if turn % 2:
            return created + (turn + 1) * each
    return 0.0


def _seconds(text: str | None) -> float | None:
    """A script that cannot be read is as good as none."""
    if text is None:
        return None
    try:
        return max(0, parse_duration(text)) / SECOND
    except ValueError:
        return None
