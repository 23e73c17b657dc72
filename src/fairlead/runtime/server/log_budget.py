"""The budget of bytes of the RecordingPolicy, followed by the store that keeps the log.

Told of changes by `serving.py`; what cannot be read changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.control.instructions import DECISIONS
from fairlead.model.key import Key
from fairlead.model.kinds.recordingpolicy import NAME
from fairlead.model.views import RECORDING_POLICIES, RecordingPolicy
from fairlead.runtime.data.log_bounds import LOGS
from fairlead.store.contract import DELETED, CommittedChange, Journal, Reader
from fairlead.store.sqlite import SqliteJournal

_KEY = Key(RECORDING_POLICIES.name, "", NAME)
_decode = msgspec.json.Decoder(RecordingPolicy).decode


class LogBudget:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def learn(self, read: Reader) -> None:
        entry = read.get(_KEY)
        if entry is not None:
            self._take(entry.data)

    def observe(self, changes: Iterable[CommittedChange]) -> None:
        for change in changes:
            if change.entry.key == _KEY:
                self._take(b"" if change.type == DELETED else change.entry.data)

    def _take(self, data: bytes) -> None:
        bound = LOGS[DECISIONS]
        if data:
            try:
                asked = _decode(data).spec.bytes_max
            except msgspec.MsgspecError:
                return
            bound = bound._replace(bytes_max=asked or bound.bytes_max)
        if isinstance(self._journal, SqliteJournal):
            self._journal.keep(DECISIONS, bound)
