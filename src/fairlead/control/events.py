"""The recorder: notes of Deciders become Event objects, few enough to be read and to be paid for.

    tell(note) -> same occasion? -> similar ones combined -> the object's allowance -> waiting room -> Call -> answered

As Kubernetes' clients do: what is the same (object, source, type, reason, message) is one Event whose count grows;
beyond `similar_max` messages of one reason the rest is combined into one Event; each object has an allowance of
`object_burst` that refills slowly. All together are held to `per_second`. An Event's name follows from what it tells:
a new leader counts on where the old one ended, as what exists under the name is read once, then patched.

Best effort: what does not fit, is refused or has no answer is counted and left; the next occurrence tells again. Part
of the plane (`plane.py`), which sends the calls with the leader's fence; everything known is forgotten with the
leadership. Memory is bounded. Pure: time arrives with each call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from fairlead.control.instructions import Call
from fairlead.core import codec
from fairlead.core.bounded_dict import keep_last
from fairlead.core.times import timestamp
from fairlead.decision.contract import EventNote
from fairlead.model.marks import DECISION
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.port.request import MERGE_PATCH, Request

WRITER = "events"  # whose calls these are
COMBINED = "(combined from similar events): "
#: bound: plane | length of an Event's message | it is cut
MESSAGE_MAX = 1024
_NAME_MAX = 253
_HOMELESS = "default"  # namespace of Events about objects that are in none

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """`remembered_max`: Events, objects and reasons remembered, each. `rest_seconds`: how long to wait for allowance
    when the rate is used up, so that it is given out in lumps."""

    #: bound: plane | notes about one object at once | not told
    object_burst: int = 25
    object_refill_seconds: float = 300.0
    similar_max: int = 10
    similar_seconds: float = 600.0
    remembered_max: int = 4096
    #: bound: plane | notes that wait to be an Event | not told
    waiting_max: int = 1500
    in_flight_max: int = 4
    #: bound: plane | Events written in a second | they wait
    per_second: int = 100
    burst: float = 100.0
    rest_seconds: float = 0.25


BUILT_IN = RecorderSettings()


class _Told:
    """One Event: what is stored of it, and what is still to be told."""

    __slots__ = (
        "component",
        "decision",
        "first",
        "in_flight",
        "last",
        "looks",
        "name",
        "note",
        "sent",
        "stored",
        "untold",
    )

    def __init__(self, name: str, note: EventNote, component: str, now: float) -> None:
        self.name, self.note, self.component = name, note, component
        self.decision = ""  # the newest that told it
        self.first = self.last = timestamp(now)
        self.stored = 0  # its count as stored; 0: not known to exist
        self.untold = 0  # occurrences that no call has told
        self.sent = 0  # those of them that the call under way tells
        self.in_flight = self.looks = False

    @property
    def namespace(self) -> str:
        return self.note.regarding.namespace or _HOMELESS


class Recorder:
    def __init__(self, new_call: Callable[[], int], settings: RecorderSettings | None = None) -> None:
        self.settings = settings or BUILT_IN
        self._new_call = new_call
        self._told: OrderedDict[str, _Told] = OrderedDict()  # by name
        self._allowances: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()  # left, as of
        self._similar: OrderedDict[tuple[str, ...], tuple[set[str], float]] = OrderedDict()
        self._waiting: OrderedDict[str, _Told] = OrderedDict()
        self._calls: dict[int, _Told | None] = {}  # None: of a former leadership
        self._left, self._left_at = self.settings.burst, 0.0
        self.next_at = 0.0  # when there is something to send; 0: when told or answered
        self.written = self.suppressed = self.dropped = self.unknown = 0  # plain counts for metrics

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def tell(self, component: str, note: EventNote, now: float, decision: str = "") -> None:
        """`decision`: the one that it tells of, by its id."""
        if len(self._waiting) >= self.settings.waiting_max:
            self.dropped += 1  # before any work on it: this is what happens when there are thousands
            return
        name, note = self._correlated(component, note, now)
        told = self._told.get(name)
        if told is not None and note.occasion and told.note.occasion == note.occasion:
            return
        if not self._allows((component, note.regarding.uid), now):
            self.suppressed += 1
            return
        if told is None:
            told = _Told(name, note, component, now)
            keep_last(self._told, name, told, self.settings.remembered_max)
        else:
            self._told.move_to_end(name)
        told.note, told.last, told.decision = note, timestamp(now), decision
        told.untold += 1
        self._queue(told)

    def step(self, now: float) -> list[Call]:
        """As many calls as the rate allows now."""
        settings, calls = self.settings, list[Call]()
        if not self._waiting and self._left == settings.burst:
            self._left_at, self.next_at = now, 0.0
            return calls
        self._left = min(settings.burst, self._left + (now - self._left_at) * settings.per_second)
        self._left_at = now
        while self._waiting and len(self._calls) < settings.in_flight_max and self._left >= 1:
            _, told = self._waiting.popitem(last=False)
            call = self._new_call()
            self._calls[call] = told
            self._left -= 1
            told.in_flight = True
            calls.append(Call(call, WRITER, self._request(told)))
        rests = self._waiting and self._left < 1
        self.next_at = now + settings.rest_seconds if rests else 0.0
        return calls

    def rest_until(self, at: float) -> None:
        """Nothing can be sent before."""
        self.next_at = at if self._waiting else 0.0

    def answers(self, call: int) -> bool:
        return call in self._calls

    def answered(self, call: int, outcome: Outcome) -> None:
        told = self._calls.pop(call)
        if told is None:
            return
        sent, told.sent, told.in_flight = told.sent, 0, False
        if told.looks:
            told.looks = False
            self._looked(told, outcome)
        elif isinstance(outcome, Done):
            told.stored += sent
            told.untold -= sent
            self.written += 1
        elif isinstance(outcome, Unknown):
            told.stored += sent if told.stored else 0
            told.untold -= sent
            self.unknown += 1
        elif isinstance(outcome, Conflict) and not told.stored:
            told.looks = True  # it exists, told by a former leader or before a restart
        elif isinstance(outcome, Refused) and outcome.status == 404 and told.stored:
            told.stored, told.first = 0, told.last  # it expired: make it anew
        else:
            self._drop(told)
        if told.untold:
            self._queue(told)

    def forget(self) -> None:
        """Somebody else leads: what is known of counts is theirs to continue."""
        self.dropped += len(self._waiting)
        for known in (self._told, self._allowances, self._similar, self._waiting):
            known.clear()
        self._calls = dict.fromkeys(self._calls)
        self.next_at = 0.0

    # Inside

    def _correlated(self, component: str, note: EventNote, now: float) -> tuple[str, EventNote]:
        """The name of the Event that tells this note, and the note with the words it then has."""
        about, settings = note.regarding, self.settings
        group = (about.uid, about.field_path, component, note.type, note.reason)
        messages, since = self._similar.get(group, (set(), now))
        if now - since > settings.similar_seconds:
            messages = set()
        message = note.message[:MESSAGE_MAX]
        combined = message not in messages and len(messages) >= settings.similar_max
        if not combined:
            messages.add(message)
        keep_last(self._similar, group, (messages, now), settings.remembered_max)
        if combined:
            changed = (COMBINED + message)[:MESSAGE_MAX]
            note = EventNote(
                regarding=about,
                type=note.type,
                reason=note.reason,
                message=changed,
                after=note.after,
                occasion=note.occasion,
            )
        parts = group if combined else (*group, message)
        label = blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
        return f"{about.name[: _NAME_MAX - 1 - len(label)]}.{label}", note

    def _allows(self, key: tuple[str, str], now: float) -> bool:
        settings = self.settings
        left, at = self._allowances.get(key, (float(settings.object_burst), now))
        left = min(settings.object_burst, left + (now - at) / settings.object_refill_seconds)
        allowed = left >= 1
        keep_last(self._allowances, key, (left - allowed, now), settings.remembered_max)
        return allowed

    def _queue(self, told: _Told) -> None:
        if told.in_flight or told.name in self._waiting:
            return
        if len(self._waiting) >= self.settings.waiting_max:
            self._drop(told)
        else:
            self._waiting[told.name] = told

    def _drop(self, told: _Told) -> None:
        self.dropped += 1
        told.untold = 0

    def _looked(self, told: _Told, outcome: Outcome) -> None:
        if not isinstance(outcome, Done):
            self._drop(told)
            return
        found = codec.decode(outcome.body)
        told.stored = max(1, int(found.get("count") or 1))
        told.first = found.get("firstTimestamp") or told.first

    def _request(self, told: _Told) -> Request:
        if told.looks:
            return Request(
                verb="get", group="", version="v1", plural="events", namespace=told.namespace, name=told.name
            )
        told.sent = told.untold
        if not told.stored:
            return Request("create", "", "v1", "events", told.namespace, body=codec.encode(_event(told)))
        patch: Json = {
            "count": told.stored + told.sent,
            "lastTimestamp": told.last,
            "message": told.note.message[:MESSAGE_MAX],
        }
        if told.decision:
            patch["metadata"] = {"annotations": {DECISION: told.decision}}
        return Request(
            verb="patch", group="", version="v1", plural="events", namespace=told.namespace, name=told.name,
            body=codec.encode(patch), content_type=MERGE_PATCH,
        )  # fmt: skip


def _event(told: _Told) -> Json:
    note, about = told.note, told.note.regarding
    involved = {
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
        "fieldPath": about.field_path,
    }
    metadata: Json = {"name": told.name, "namespace": told.namespace}
    if told.decision:
        metadata["annotations"] = {DECISION: told.decision}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": {key: value for key, value in involved.items() if value},
        "type": note.type,
        "reason": note.reason,
        "message": note.message[:MESSAGE_MAX],
        "source": {"component": told.component},
        "reportingComponent": told.component,
        "reportingInstance": "",
        "firstTimestamp": told.first,
        "lastTimestamp": told.last,
        "count": told.sent,
        "eventTime": None,
    }
