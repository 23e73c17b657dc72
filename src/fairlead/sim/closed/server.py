"""The API of a closed replay: the store as it was at a revision, and the verbs of production over it, one by one.

Every write is committed before the next is looked at, and gets the revision that it got then, as long as all that was
written before is the same. What others wrote is put in as it is recorded (`write`). No timeline and no faults: what
came when is on the tape. Used by `player.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from fairlead.api.access.authn import Tokens
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import User
from fairlead.api.admission import DEFAULT_STEPS, SERVING_STEPS, AdmissionChain
from fairlead.api.assembly import Assembly, Remembered
from fairlead.api.conversation import stored_reply
from fairlead.api.desk import Desk
from fairlead.api.plan import Context
from fairlead.api.server import Api
from fairlead.model.key import Key
from fairlead.port.request import Reply, Request
from fairlead.replay.artifact import RecordedChange
from fairlead.sim.stepped import SteppedServer
from fairlead.store.contract import ADDED, DELETED, Batch, CommittedChange, Entry, Put, Remove, Transaction
from fairlead.store.machine import Store
from fairlead.store.memory import MemoryJournal

_REVISION = re.compile(rb'"resourceVersion":"[0-9]*"')
_HOLE = Key("holes.sim.fairlead.dev", "", "hole")  # revisions of which the capture has nothing

Observe = Callable[[tuple[CommittedChange, ...]], None]


class ClosedServer(SteppedServer):
    def __init__(
        self,
        entries: Iterable[Entry],
        revision: int,
        now: float,
        observe: Observe,
        mounts_tokens: bool,
        make_api: Callable[[Desk, SignIn], Api] = Api,
    ) -> None:
        journal = MemoryJournal()
        kept = sorted(entries, key=lambda entry: entry.revision)
        journal.append(Batch(tuple([CommittedChange(ADDED, entry, None) for entry in kept]), (), now))
        store = Store(msgspec.structs.replace(journal.recover(), revision=revision), journal)
        chain = AdmissionChain(SERVING_STEPS if mounts_tokens else DEFAULT_STEPS)
        super().__init__(
            Assembly(store, Tokens({}), b"closed", Remembered(chain=chain), make_api), journal, now
        )
        self._observe = observe
        self.committed: list[CommittedChange] = []  # by the last request

    @property
    def revision(self) -> int:
        return self.store.revision

    def entries(self) -> tuple[Entry, ...]:
        return tuple([each for each in self.journal.recover().entries if each.key != _HOLE])

    def list(self, resource: str, revision: int) -> tuple[Entry, ...]:
        if revision >= self.revision:
            return tuple(self.store.list(resource))
        return tuple(self.store.list_at(resource, "", revision))

    def changes(self, resource: str, after: int, until: int) -> Sequence[CommittedChange]:
        found = self.store.changes_after(after, resource, 1_000_000)
        return [each for each in found if each.entry.revision <= until]

    def send(self, request: Request, user: User, now: float, entropy: bytes) -> Reply:
        self.now, self.committed = now, []
        context = Context(
            user=user,
            now=now,
            entropy=entropy,
            request_id=entropy[:8].hex(),
            user_agent="fairlead",
            source="",
        )
        return stored_reply(self.answer(request, context))

    def publish(self, changes: tuple[CommittedChange, ...]) -> None:
        self.committed += changes
        self._observe(changes)

    def write(self, change: RecordedChange, now: float) -> bool:
        """What somebody else wrote. False: there is nothing to delete, or something of that name has another uid."""
        self.now, key = now, Key(*change.key)
        known = self.store.get(key)
        head, tail = _split(bytes(change.value))
        if change.change_type == DELETED:
            if known is None:
                return False
            self.commit(Transaction((Remove(key, known.uid, head, tail),)))
            return True
        if (known is None) != (change.change_type == ADDED):
            return False  # only where the replay went another way
        self.commit(Transaction((Put(key, change.uid, head, tail),)))
        return True

    def skip_to(self, revision: int) -> None:
        """The next write gets the revision after this one."""
        while self.revision < revision:
            body = b'{"apiVersion":"v1","kind":"Hole","metadata":{"name":"hole","uid":"hole",'
            self.commit(Transaction((Put(_HOLE, "hole", body + b'"resourceVersion":"', b'"}}'),)))


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Before and after the number of the revision."""
    found = _REVISION.search(data)
    assert found is not None, "every stored object has its revision"
    return data[: found.start() + len(b'"resourceVersion":"')], data[found.end() - 1 :]
