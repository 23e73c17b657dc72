"""A committed change as the detector of loops takes it (`feedback.py`): its fields, with what they were and became.

Called by whoever sees commits: monitors beside a running plane, and the simulator. Values are shown only where the kind
has no sensitive fields.
"""

from __future__ import annotations

from fairlead.control.feedback import Commit
from fairlead.control.write_loops import value_of
from fairlead.core import codec
from fairlead.decision.footprint import field_values, written_fields
from fairlead.store.contract import DELETED, CommittedChange


def commit_of(
    change: CommittedChange, writer: str, decision: str, seconds: float, is_shown: bool = True
) -> Commit | None:
    """None: it came, went, or nobody is known to have written it."""
    if not writer or change.before is None or change.type == DELETED:
        return None
    before, after = codec.decode(change.before.data), codec.decode(change.entry.data)
    fields = written_fields(before, after)
    was, became = field_values(before, fields), field_values(after, fields)
    return Commit(
        seconds,
        writer,
        change.entry.key,
        {each: (value_of(was[each], is_shown), value_of(became[each], is_shown)) for each in sorted(fields)},
        decision,
        change.entry.revision,
    )
