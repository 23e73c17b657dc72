"""Events about this node's pods, and about itself: what happened to them, for people, few enough to be paid for.

`tell` is called by `pod/worker.py`, `tell_of_node` by `machine.py`; `step` makes the requests that the rate allows.
Notes with the same object, reason and message are one Event whose count grows. Each object has an allowance that
refills slowly, and so has the node as a whole. Best effort: what does not fit, is refused or has no answer is counted
in `dropped` and left until the same happens again, which is told with the count of all. Memory is bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b

from fairlead.agent.calls import Calls, Purpose
from fairlead.agent.contract import Ask, NodeSettings
from fairlead.agent.pace import Pace
from fairlead.agent.views import BoundPod
from fairlead.core import codec
from fairlead.core.errors import AlreadyExists
from fairlead.core.times import timestamp
from fairlead.model.views import Json
from fairlead.port.outcome import Conflict, Done, Outcome, Refused
from fairlead.port.request import MERGE_PATCH, Request

PART = "event"
NORMAL, WARNING = "Normal", "Warning"
_COMPONENT = "fairlead-agent"
_NAME_MAX = 253
_HOMELESS = "default"  # namespace of Events about objects that are in none


class _Told:
    __slots__ = ("body", "count", "in_flight", "last", "name", "namespace", "stored", "untold")

    def __init__(self, name: str, namespace: str, body: Json) -> None:
        self.name, self.namespace, self.body = name, namespace, body
        self.count = 0
        self.last = ""
        self.untold = self.in_flight = self.stored = False


class Notes:
    def __init__(self, settings: NodeSettings, pace: Pace, calls: Calls) -> None:
        self._settings, self._pace, self._calls = settings, pace, calls
        self._told: OrderedDict[str, _Told] = OrderedDict()
        self._allowances: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._left, self._left_at = float(pace.events_burst), 0.0
        self.dropped = 0
        self.next_at = 0.0

    def tell(self, pod: BoundPod, container: str, kind: str, reason: str, message: str, now: float) -> None:
        self._tell(_pod(pod, container), container, kind, reason, message, now)

    def tell_of_node(self, uid: str, kind: str, reason: str, message: str, now: float) -> None:
        """Of this node; its Events are where those of objects without a namespace are."""
        about = {"apiVersion": "v1", "kind": "Node", "name": self._settings.name, "uid": uid}
        self._tell(about, "", kind, reason, message, now)

    def _tell(self, about: Json, container: str, kind: str, reason: str, message: str, now: float) -> None:
        pace, uid = self._pace, about["uid"]
        if not self._allows(uid, now):
            self.dropped += 1
            return
        message = message[: pace.message_max]
        parts = (uid, container, kind, reason, message, self._settings.boot)
        label = blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).hexdigest()
        name = f"{about['name'][: _NAME_MAX - 1 - len(label)]}.{label}"
        told = self._told.get(name)
        if told is None:
            namespace = about.get("namespace", _HOMELESS)
            body = self._body(about, namespace, kind, reason, message)
            told = self._told[name] = _Told(name, namespace, body)
            told.body["metadata"]["name"] = name
            told.body["firstTimestamp"] = timestamp(now)
            if len(self._told) > pace.events_remembered_max:
                self._told.popitem(last=False)
        told.count += 1
        told.last = timestamp(now)
        told.untold = True

    def step(self, now: float) -> tuple[Ask, ...]:
        pace, asks = self._pace, []
        self._left = min(pace.events_burst, self._left + (now - self._left_at) * pace.events_per_second)
        self._left_at = now
        waits = False
        for told in self._told.values():
            if not told.untold or told.in_flight:
                continue
            if self._left < 1:
                waits = True
                break
            self._left -= 1
            told.untold, told.in_flight = False, True
            asks.append(self._calls.ask(Purpose(PART, told.name), self._request(told)))
        self.next_at = now + 1 / pace.events_per_second if waits else 0.0
        return tuple(asks)

    def answered(self, about: str, outcome: Outcome) -> None:
        told = self._told.get(about)
        if told is None:
            return
        told.in_flight = False
        if isinstance(outcome, Done):
            told.stored = True
        elif isinstance(outcome, Conflict) and outcome.reason == AlreadyExists.reason and not told.stored:
            # A create whose answer was lost did make it: what is missing is its count.
            told.stored = told.untold = True
        else:
            self.dropped += 1
            if isinstance(outcome, Refused) and outcome.retry == "never":
                del self._told[about]  # it expired, or may not be: the next occurrence begins anew

    def _allows(self, uid: str, now: float) -> bool:
        pace = self._pace
        left, at = self._allowances.get(uid, (float(pace.events_of_pod_burst), now))
        left = min(pace.events_of_pod_burst, left + (now - at) / pace.events_of_pod_refill_seconds)
        allowed = left >= 1
        self._allowances[uid] = (left - allowed, now)
        self._allowances.move_to_end(uid)
        if len(self._allowances) > pace.events_remembered_max:
            self._allowances.popitem(last=False)
        return allowed

    def _request(self, told: _Told) -> Request:
        if told.stored:
            patch = {"count": told.count, "lastTimestamp": told.last}
            return Request(
                verb="patch", group="", version="v1", plural="events", namespace=told.namespace,
                name=told.name, body=codec.encode(patch), content_type=MERGE_PATCH,
            )  # fmt: skip
        body = {**told.body, "count": told.count, "lastTimestamp": told.last}
        return Request("create", "", "v1", "events", told.namespace, body=codec.encode(body))

    def _body(self, about: Json, namespace: str, kind: str, reason: str, message: str) -> Json:
        node = self._settings.name
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": namespace},
            "involvedObject": about,
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": _COMPONENT, "host": node},
            "reportingComponent": _COMPONENT,
            "reportingInstance": node,
            "eventTime": None,
        }


def _pod(pod: BoundPod, container: str) -> Json:
    meta = pod.metadata
    about: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    if container:
        is_init = any(each.name == container for each in pod.spec.init_containers)
        about["fieldPath"] = f"spec.{'initContainers' if is_init else 'containers'}{{{container}}}"
    return about
