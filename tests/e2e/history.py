"""Judges what a watch told against what writers were promised. Pure: fed by `test_kill.py`, tested by itself.

A `Write` is one attempt of a writer and how it ended: acknowledged (with the object that was answered), refused, or
unknown because the server died before answering. A `History` takes the watch's events in the order they came and
says what cannot be: a revision that goes back or comes twice, a chain of a key that is broken, an acknowledged write
that is missing or different, a refused write that happened, contents that nobody sent as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Object = dict[str, Any]
Outcome = Literal["acknowledged", "refused", "unknown"]


@dataclass(frozen=True, slots=True)
class Write:
    """`expected` is the revision that the write was conditional on, 0 if on none; `content` is what was sent."""

    marker: str
    name: str
    outcome: Outcome
    deletes: str = ""  # the uid, for a delete
    expected: int = 0
    content: str = ""
    answered: Object | None = None


@dataclass(frozen=True, slots=True)
class Event:
    type: str
    object: Object

    @property
    def revision(self) -> int:
        return revision_of(self.object)

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])


def revision_of(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


@dataclass(slots=True)
class History:
    """Everything seen so far. `problems` is empty as long as every promise was kept."""

    last: int = 0
    present: dict[str, Object] = field(default_factory=dict)
    at_revision: dict[int, tuple[Event, int]] = field(
        default_factory=dict
    )  # event, revision of the key before it
    deleted: dict[str, int] = field(default_factory=dict)  # uid -> revision
    markers: dict[str, int] = field(default_factory=dict)  # marker -> revision
    problems: list[str] = field(default_factory=list)

    def observe(self, event: Event) -> None:
        """The next event of the watch, whichever connection brought it."""
        revision, name = event.revision, event.name
        if revision <= self.last:
            self.problems.append(f"revision {revision} came after {self.last}: repeated or out of order")
            return
        before = self.present.get(name)
        self.last = revision
        self.at_revision[revision] = (event, 0 if before is None else revision_of(before))
        if event.type == "ADDED":
            if before is not None:
                self.problems.append(
                    f"{name} was added at {revision} though it was there: a deletion is missing"
                )
        elif before is None:
            self.problems.append(
                f"{name} was {event.type} at {revision} though it was not there: a creation is missing"
            )
        elif before["metadata"]["uid"] != event.uid:
            self.problems.append(
                f"{name} changed its uid at {revision}: a deletion and a creation are missing"
            )
        if event.type == "DELETED":
            self.present.pop(name, None)
            self.deleted[event.uid] = revision
        else:
            self.present[name] = event.object
            self._observe_marker(event)

    def _observe_marker(self, event: Event) -> None:
        marker = event.object["data"]["marker"]
        if marker in self.markers:
            self.problems.append(
                f"write {marker} happened twice: at {self.markers[marker]} and {event.revision}"
            )
        self.markers[marker] = event.revision

    def settle(self, writes: Iterable[Write], newest_before: int) -> None:
        """Compare with how the writes ended. All they could have caused has been observed."""
        for write in writes:
            if write.outcome == "acknowledged":
                self._settle_acknowledged(write, newest_before)
            elif write.outcome == "refused":
                if write.marker in self.markers:
                    self.problems.append(f"write {write.marker} was refused, but happened")
            elif write.marker in self.markers:
                self._settle_content(write, self.markers[write.marker])

    def _settle_acknowledged(self, write: Write, newest_before: int) -> None:
        if write.deletes:
            if write.deletes not in self.deleted:
                self.problems.append(f"acknowledged deletion of {write.name} ({write.deletes}) is lost")
            return
        assert write.answered is not None
        revision = revision_of(write.answered)
        if revision <= newest_before:
            self.problems.append(
                f"write {write.marker} got revision {revision}, but {newest_before} was in use already"
            )
        event, previous = self.at_revision.get(revision, (None, 0))
        if event is None:
            self.problems.append(f"acknowledged write {write.marker} of {write.name} at {revision} is lost")
        elif event.object != write.answered:
            self.problems.append(
                f"write {write.marker} was acknowledged otherwise than it was kept at {revision}"
            )
        elif write.expected and previous != write.expected:
            self.problems.append(f"write {write.marker} expected {write.expected}, but replaced {previous}")
        else:
            self._settle_content(write, revision)

    def _settle_content(self, write: Write, revision: int) -> None:
        event, previous = self.at_revision[revision]
        if event.object["data"] != {"marker": write.marker, "content": write.content}:
            self.problems.append(f"write {write.marker} is there in part only, at {revision}")
        if write.expected and previous != write.expected:
            self.problems.append(f"write {write.marker} expected {write.expected}, but replaced {previous}")

    def compare(self, listed: Iterable[Object], revision: int) -> None:
        """A list read at `revision` must be what the events up to it add up to."""
        folded = self.state_at(revision)
        found = {obj["metadata"]["name"]: obj for obj in listed}
        for name in sorted(folded.keys() | found.keys()):
            if folded.get(name) != found.get(name):
                self.problems.append(f"{name} in the list at {revision} is not what the watch told")

    def state_at(self, revision: int) -> dict[str, Object]:
        state: dict[str, Object] = {}
        for at, (event, _) in self.at_revision.copy().items():  # the watcher goes on meanwhile
            if at > revision:
                break
            if event.type == "DELETED":
                state.pop(event.name, None)
            else:
                state[event.name] = event.object
        return state
