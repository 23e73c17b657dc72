"""Which priority levels of the API writers share: requests of one level wait for the same seats (`api/flow/`).

Writes that the audit log has are put to the level that their FlowSchema leads to now. Who is exempt waits for nobody,
and a plane in the server's own process sends nothing over the wire: neither shares a level. Fed by `observed.py`, asked
by `answer.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from fairlead.api.access.users import User
from fairlead.api.flow.in_force import FlowControl
from fairlead.explain.coupling.contract import API_BUDGET, Coupling
from fairlead.model.kinds.prioritylevelconfiguration import EXEMPT_LEVEL, KIND
from fairlead.store.contract import Reader


class Share:
    """Of one writer in a level."""

    __slots__ = ("writes",)

    def __init__(self) -> None:
        self.writes = 0


class FlowLevels:
    def __init__(self, reader: Reader) -> None:
        self._flows = FlowControl()
        self._flows.learn(reader)
        self._found: dict[str, dict[tuple[str, str], Share]] = {}  # level -> writer and its sort

    def share_of(
        self, writer: str, sort: str, user: str, groups: Sequence[str], asked: tuple[str, str, str, str, str]
    ) -> Share | None:
        """Where its writes are to be counted; None: it waits for nobody. `asked`: verb, group, plural, subresource and
        namespace of a request."""
        level = self._flows.flow_of((User(user, groups=tuple(groups)), *asked)).level
        if level == EXEMPT_LEVEL:
            return None
        return self._found.setdefault(level, {}).setdefault((writer, sort), Share())

    def couplings(self, reader: str) -> list[Coupling]:
        """Who else waits for the seats that this controller waits for."""
        return [
            Coupling(
                API_BUDGET, writer, sort, KIND.resource, (f"seats of {level}",), reader, writes=share.writes
            )
            for level, writers in sorted(self._found.items())
            if any(name == reader for name, _ in writers)
            for (writer, sort), share in sorted(writers.items(), key=itemgetter(0))
            if writer != reader
        ]
