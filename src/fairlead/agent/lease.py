"""The node's heartbeat: the Lease kube-node-lease/NAME, renewed on time, and what each renewal allows.

A machine beside the others of `machine.py`. What a renewal is worth: if it is Done, everybody who judges this node
counts its silence from a moment not before it was sent. So supervisors that have a deadline may go on until `sent +
lease_seconds - fence_margin_seconds`, and that is the only thing that moves `deadline`. An unknown outcome extends
nothing. Every failure is logged with the seconds left until then, and once that the deadline has come.

The write is a level (the newest renewTime), so sending it again after an unknown outcome does what sending it once
does: renewals that arrive late or twice only make the plane wait longer before it gives this node up.

Two agents may have been given one name. Where settings name an `instance`, the lease belongs to the one it names: an
agent looks before its first renewal and after every answer that leaves it in doubt, binds each renewal to the revision
it knows, and takes another's lease only when that one has not renewed it for as long as it lasts, by its own clock.

A renewal also tells what pods use, while the Node asks for it (`USAGE_WANTED_UNTIL`): so that costs no write. The
same renewals tell whose weights of zones the proxy follows.

| state  | Done                          | Conflict                 | Refused 404 | any other            |
| ------ | ----------------------------- | ------------------------ | ----------- | -------------------- |
| look   | ours: renew; another's: look  | -                        | create      | look, after a rest   |
| create | renew, Extend                 | it exists: look or renew | create      | create, after a rest |
| renew  | renew, Extend                 | look or renew            | create      | renew, after a rest  |
"""

from __future__ import annotations

from zlib import crc32

from fairlead.agent.calls import MANAGER, Calls, Purpose
from fairlead.agent.contract import Ask, Extend, Log, NodeSettings
from fairlead.agent.pace import Pace, Retry
from fairlead.core import codec
from fairlead.core.times import microtime, parse_time
from fairlead.model.marks import (
    AGENT_INSTANCE,
    AGENT_PLACE,
    NODE_LEASES,
    PROXY_FOLLOWS,
    USAGE,
    USAGE_WANTED_UNTIL,
)
from fairlead.model.views import Json, Meta
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.port.request import JSON, MERGE_PATCH, Request
from fairlead.port.usage import NodeUsage, usage_text

PART = "lease"
#: bound: endpoint | a node whose proxy follows other weights of zones tells so within | -
FOLLOWED_TOLD_SECONDS = 2.0


class Heartbeat:
    def __init__(self, settings: NodeSettings, pace: Pace, calls: Calls) -> None:
        self._settings, self._pace, self._calls = settings, pace, calls
        self._exists = False  # as far as known; wrong guesses are told by 409 and 404
        self._sent_at = 0.0
        self._in_flight = False
        self._retry = Retry()
        self._next_at = 0.0
        self._sure = not settings.instance  # the lease is ours, at `_revision`, or not there
        self._revision = 0
        self._looking = False
        self._other = ("", "")  # who else renewed it, and when by their clock
        self._other_since = 0.0  # by ours
        self.ours = self._sure  # as far as known: only then do we write of the node and its pods
        self.taken = False  # by another agent, which was seen to renew it: that one runs the node's pods
        self.deadline = 0.0  # until then everything may run; 0: never renewed
        self.regained = 0  # the revision of the renewal since which the lease was held without a gap
        self._told_lapse = False
        self.refused = False  # the last renewal was, by a server that may answer other requests
        self.usage: NodeUsage | None = None  # as measured last
        self._told_usage = False  # the lease may still tell of it
        self._follows: tuple[str, ...] = ()  # the overrides whose weights of zones the proxy follows
        self._told_follows: tuple[str, ...] = ()
        self.renewals = self.failures = 0  # plain counts for metrics
        self.trouble = ""

    @property
    def due(self) -> float:
        """When the next renewal is; 0: when the one under way is answered."""
        return 0.0 if self._in_flight else self._next_at

    def recall(self) -> None:
        """No API answers, and an agent of this machine had the lease: it is taken to be ours until somebody says more.
        Nothing is held by that. If the lease could be read and is another's, it stays so: lists fail by themselves."""
        self.ours = self.ours or self._other[0] in ("", self._settings.instance)

    def held(self, now: float) -> bool:
        return now < self.deadline

    def follow(self, overrides: tuple[str, ...], now: float) -> None:
        """The proxy goes by the weights of these: told soon, and not by all nodes at once."""
        if overrides == self._follows:
            return
        self._follows = overrides
        if self._next_at:
            spread = crc32(self._settings.name.encode()) % 1000 / 1000
            self._next_at = min(self._next_at, now + FOLLOWED_TOLD_SECONDS * spread)

    def step(self, now: float, node: Meta | None) -> tuple[Ask, ...]:
        """The renewal that is due, if one is. `node`: the Node's metadata, None while there is none."""
        if self._in_flight or now < self._next_at:
            return ()
        self._in_flight = True
        self._sent_at = now
        self._looking = not self._sure
        request = _to("get", self._settings.name) if self._looking else self._request(now, node)
        return (self._calls.ask(Purpose(PART), request),)

    def answered(self, outcome: Outcome, now: float, chance: float) -> tuple[Extend | Log, ...]:
        self._in_flight = False
        self.refused = isinstance(outcome, Refused) and outcome.retry == "never"
        settings = self._settings
        if self._looking and isinstance(outcome, Done):
            return self._looked(outcome, now)
        if self._looking and isinstance(outcome, Refused) and outcome.status == 404:
            self._sure, self._exists, self._revision, self._next_at = True, False, 0, now
            self.ours, self.taken = True, False
            return ()
        if isinstance(outcome, Done):
            self._exists = True
            self._revision = outcome.revision
            self._retry.succeeded()
            if not self.held(now):
                self.regained = outcome.revision
            self.trouble = ""
            self._told_lapse = False
            self.renewals += 1
            self._next_at = self._sent_at + settings.renew_seconds
            self.deadline = max(
                self.deadline, self._sent_at + settings.lease_seconds - settings.fence_margin_seconds
            )
            return (Extend(self.deadline),)
        self.failures += 1
        if self._looking:
            self._other = ("", "")  # silence of another is counted anew: nobody could have heard it
        news = outcome.message != self.trouble
        self.trouble = outcome.message
        self._sure = not settings.instance
        if isinstance(outcome, Conflict) and (settings.instance or not self._exists):
            self._exists = True
            self._next_at = now
        else:
            if isinstance(outcome, Refused) and outcome.status == 404:
                self._exists = False
            self._retry.failed(now, self._pace, chance)
            # Never slower than renewals are: the next attempt may be the one that keeps everything running.
            self._next_at = min(self._retry.at, now + settings.renew_seconds)
        if isinstance(outcome, Conflict):
            return ()
        return self._complain(outcome, news, now)

    def _complain(self, outcome: Unknown | Refused, news: bool, now: float) -> tuple[Log, ...]:
        settings = self._settings
        told = f"node {settings.name} could not renew its lease: {outcome.message}"
        if isinstance(outcome, Refused) and outcome.status == 403:
            told = f"node {settings.name} may not renew its lease: {outcome.message}: give it a token for its own name"
        if self.held(now):
            left = f"{self.deadline - now:.0f} s left until its pods of which at most one may run end; others run on"
            return (Log(f"{told}; {left}"),)
        lapsed = self.deadline > 0 and not self._told_lapse
        self._told_lapse = self._told_lapse or lapsed
        if lapsed:
            return (Log(f"{told}; its pods of which at most one may run have ended, others run on"),)
        return (Log(told),) if news else ()

    def _looked(self, outcome: Done, now: float) -> tuple[Log, ...]:
        """Ours, or another's. One that another has not renewed for as long as it lasts is free."""
        settings = self._settings
        found = codec.decode(outcome.body)
        marks = found["metadata"].get("annotations") or {}
        holder = marks.get(AGENT_INSTANCE, "")
        spec = found.get("spec") or {}
        seen = (holder, spec.get("renewTime") or "")
        news = holder != self._other[0]
        renewed = not news and seen != self._other
        if seen != self._other:
            self._other, self._other_since = seen, now
        lasts = spec.get("leaseDurationSeconds") or settings.lease_seconds
        self.ours = holder in ("", settings.instance) or now - self._other_since >= lasts
        if self.ours:
            self._sure, self._exists, self._revision, self._next_at = True, True, outcome.revision, now
            self.taken = False
            return ()
        self.taken = self.taken or renewed
        self._next_at = now + settings.renew_seconds
        place = marks.get(AGENT_PLACE) or "another machine or data directory"
        told = (
            f"node {settings.name} is run by another agent, from {place}: this one starts nothing until that one has"
            f" been silent for {lasts} s, and ends what it runs; stop it, or choose another --name"
        )
        return (Log(told),) if news else ()

    def _request(self, now: float, node: Meta | None) -> Request:
        settings = self._settings
        metadata: Json = {}
        annotations: dict[str, str | None] = self._usage_told(node, now)
        if self._follows or (self._told_follows and self._exists):
            annotations[PROXY_FOLLOWS] = ",".join(self._follows) or None
            self._told_follows = self._follows
        if settings.instance:
            annotations[AGENT_INSTANCE] = settings.instance
            if settings.place:
                annotations[AGENT_PLACE] = settings.place
            if self._exists:
                metadata["resourceVersion"] = str(self._revision)
        if annotations:
            metadata["annotations"] = annotations
        node_uid = node.uid if node is not None else ""
        return lease_request(settings.name, settings.lease_seconds, now, self._exists, node_uid, metadata)

    def _usage_told(self, node: Meta | None, now: float) -> dict[str, str | None]:
        """What pods use, if it is wanted; when it no longer is, what was told is taken away."""
        wanted = node is not None and self.usage is not None and _is_ahead(node, now)
        if wanted and self.usage is not None:
            self._told_usage = True
            return {USAGE: usage_text(self.usage)}
        if self._told_usage and self._exists:
            self._told_usage = False
            return {USAGE: None}
        return {}


def _is_ahead(node: Meta, now: float) -> bool:
    try:
        return now < parse_time(node.annotations.get(USAGE_WANTED_UNTIL, ""))
    except ValueError:
        return False


def lease_request(
    name: str, lease_seconds: int, now: float, exists: bool, node_uid: str, more: Json | None = None
) -> Request:
    """A renewal, or the first one; `more` goes into its metadata. The Lease is the Node's: it goes with it."""
    spec: Json = {
        "holderIdentity": name,
        "leaseDurationSeconds": lease_seconds,
        "renewTime": microtime(now),
    }
    if exists:
        return _to("patch", name, {"metadata": more, "spec": spec} if more else {"spec": spec}, MERGE_PATCH)
    metadata: Json = {**(more or {}), "name": name, "namespace": NODE_LEASES}
    if node_uid:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}
        metadata["ownerReferences"] = [owner]
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {**spec, "acquireTime": microtime(now)},
    }
    return _to("create", "", body, JSON)


def _to(verb: str, name: str, body: Json | None = None, content_type: str = JSON) -> Request:
    return Request(
        verb=verb, group="coordination.k8s.io", version="v1", plural="leases", namespace=NODE_LEASES,
        name=name, body=codec.encode(body) if body is not None else b"", content_type=content_type,
        manager=MANAGER,
    )  # fmt: skip
