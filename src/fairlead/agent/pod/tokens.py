"""Tokens of service accounts that pods of this node find in their projected volumes: asked for, and renewed in time.

`volumes.py` reads them, `agent/machine.py` drives this as it drives `agent/references.py`. Each is bound to its pod,
and of this agent alone: it is asked for when the pod is first looked at, and again when four fifths of its time have
passed, or a day. One that cannot be renewed stays as it is until another is there. A token names the key it was signed
with: when one comes with another key, the rest are asked for at once. So one is asked for when the API answers again
that did not: it may be back without the key it had. While no API answers a pod is not kept from starting for want of
one: the file is empty until the API is back. Bounded by the volumes of the pods on this node.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import NamedTuple

import msgspec

from fairlead.agent.calls import Calls, Purpose
from fairlead.agent.contract import Ask
from fairlead.agent.pace import Pace, Retry
from fairlead.agent.references import Missing, Pending
from fairlead.agent.views import BoundPod
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.model.views import Json
from fairlead.port.outcome import Done, Outcome, Refused
from fairlead.port.request import Request

PART = "token"
_DEFAULT_SECONDS = 3600
_DAY_SECONDS = 86_400.0
_SHARE = 0.8  # of its time, after which a token is renewed


class TokenSpec(NamedTuple):
    """What a projected source asks for; of one pod each is asked for once."""

    audience: str
    seconds: int


def spec_of(source: Json) -> TokenSpec:
    return TokenSpec(source.get("audience") or "", int(source.get("expirationSeconds") or _DEFAULT_SECONDS))


class _Given(msgspec.Struct, frozen=True, rename="camel"):
    token: str
    expiration_timestamp: str


class _Answer(msgspec.Struct, frozen=True):
    status: _Given


class _Header(msgspec.Struct, frozen=True):
    kid: str = ""


_decode = msgspec.json.Decoder(_Answer).decode
_header = msgspec.json.Decoder(_Header).decode


class _Held:
    """One token of one pod."""

    __slots__ = ("due", "in_flight", "key", "pod", "retry", "spec", "token", "trouble")

    def __init__(self, pod: BoundPod, spec: TokenSpec, now: float) -> None:
        self.pod, self.spec = pod, spec
        self.token = b""  # none yet
        self.key = ""  # the name of that which signed it
        self.trouble = ""  # why there is none
        self.due = now
        self.in_flight = False
        self.retry = Retry()

    @property
    def next_at(self) -> float:
        return max(self.due, self.retry.at)


class PodTokens:
    def __init__(self, pace: Pace, calls: Calls) -> None:
        self._pace, self._calls = pace, calls
        self._held: dict[str, dict[TokenSpec, _Held]] = {}  # by the pod's uid
        self.version = 0  # grows with every new token
        self.away = False  # no API has answered since the start
        self._missed = False  # it did not answer when it was last asked for the node itself

    def lend(self, pod: BoundPod, now: float) -> None:
        """This pod reads its tokens from now on."""
        for volume in pod.spec.volumes:
            for source in (volume.get("projected") or {}).get("sources") or ():
                if source.get("serviceAccountToken"):
                    spec = spec_of(source["serviceAccountToken"])
                    held = self._held.setdefault(pod.metadata.uid, {})
                    if spec not in held:
                        held[spec] = _Held(pod, spec, now)

    def give_back(self, uid: str) -> None:
        self._held.pop(uid, None)

    def heard(self, answers: bool, now: float) -> None:
        """Whether the API answers just now. When it is back, one token that is asked for tells whether it still accepts
        what it gave."""
        is_back, self._missed = answers and self._missed, not answers
        if not is_back:
            return
        given = [each for each in self._all() if each.token and not each.in_flight]
        if given:
            min(given, key=lambda each: each.due).due = now

    def are_there(self, uid: str) -> bool:
        """Whether this pod has all of its tokens. While not, no file of it is replaced: an agent that starts while no
        API answers must not take the tokens of pods that run."""
        return all(each.token for each in self._held.get(uid, {}).values())

    def read(self, uid: str, source: Json) -> bytes:
        """The newest there is. Raises Pending or Missing while there is none."""
        held = self._held.get(uid, {}).get(spec_of(source))
        if held is None:
            raise Pending("the service account's token has not been asked for yet")
        if held.token or self.away:
            return held.token
        if held.trouble:
            raise Missing(f"the token of its service account cannot be had: {held.trouble}")
        raise Pending("the token of its service account is being asked for")

    @property
    def next_at(self) -> float:
        """When one is to be asked for; 0: none is, or answers are waited for."""
        if self._calls.open_for(PART) >= self._pace.reads_in_flight_max:
            return 0.0
        return min((each.next_at for each in self._all() if not each.in_flight), default=0.0)

    def step(self, now: float) -> tuple[Ask, ...]:
        room = self._pace.reads_in_flight_max - self._calls.open_for(PART)
        due = [each for each in self._all() if not each.in_flight and each.next_at <= now]
        return tuple(self._ask(each) for each in due[: max(0, room)])

    def answered(self, about: str, outcome: Outcome, now: float, chance: float) -> tuple[str, ...]:
        """The pods for which something changed."""
        uid, _, rest = about.partition("/")
        seconds, _, audience = rest.partition("/")
        held = self._held.get(uid, {}).get(TokenSpec(audience, int(seconds)))
        if held is None:
            return ()
        held.in_flight = False
        token, expires = _read(outcome)
        if not token:
            held.trouble = outcome.message if isinstance(outcome, Refused) else ""
            held.retry.failed(now, self._pace, chance)
            return (uid,)
        held.token, held.key, held.trouble = token, _key_of(token), ""
        held.retry.succeeded()
        self._missed = False
        held.due = now + min(max(0.0, expires - now) * _SHARE, _DAY_SECONDS)
        self.version += 1
        for each in self._all():
            if each.token and each.key != held.key:
                each.due = min(each.due, now)
        return (uid,)

    def _all(self) -> list[_Held]:
        return [each for pod in self._held.values() for each in pod.values()]

    def _ask(self, held: _Held) -> Ask:
        held.in_flight = True
        meta, spec = held.pod.metadata, held.spec
        wanted: Json = {
            "audiences": [spec.audience] if spec.audience else [],
            "expirationSeconds": spec.seconds,
            "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": meta.name, "uid": meta.uid},
        }
        body: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": wanted}
        account = held.pod.spec.service_account_name
        request = Request(
            "create", "", "v1", "serviceaccounts", meta.namespace, account, "token", body=codec.encode(body)
        )
        return self._calls.ask(Purpose(PART, f"{meta.uid}/{spec.seconds}/{spec.audience}"), request)


def _key_of(token: bytes) -> str:
    """As its header names it; "" if it does not."""
    head = token.partition(b".")[0]
    try:
        return _header(urlsafe_b64decode(head + b"=" * (-len(head) % 4))).kid
    except (msgspec.MsgspecError, ValueError):
        return ""


def _read(outcome: Outcome) -> tuple[bytes, float]:
    """The token of an answer and when it ends; b"" if it has none."""
    if not isinstance(outcome, Done):
        return b"", 0.0
    try:
        given = _decode(outcome.body).status
        return given.token.encode(), parse_time(given.expiration_timestamp)
    except (msgspec.MsgspecError, ValueError):
        return b"", 0.0
