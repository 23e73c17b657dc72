"""The simulator's faults for a plane that runs: which request, delivery or second of an experiment is struck, and how.

    injection = Injection(spec)
    injection.fate_of_call(controller, request)   "" or the name of a fault
    injection.fate_of_watch(resource)
    injection.pause_seconds()                     asked once a second; 0: it goes on

Drawn as in a simulated run (`chance.py`): by the seed and the name of what is struck, so the same experiment strikes
the nth binding of the scheduler again. Pure; `runtime/chaos_faults.py` asks and carries out.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.core.errors import TooManyRequests
from fairlead.model.kind import Json
from fairlead.model.kinds.chaosexperiment import CALL_FAULTS, PLANE_FAULTS, WATCH_FAULTS
from fairlead.port.outcome import Outcome, Refused, Unknown
from fairlead.port.request import READ_VERBS, Request
from fairlead.sim.calls import what_of
from fairlead.sim.chance import Chance

# The server's answer is not told.
UNHEARD = frozenset({"request_lost", "request_late", "reply_lost", "throttled"})
LAG_MS = 12_000
SLOW_MS = 4_000
LATE_MS = 5_000
_PAUSE_MS_MIN, _PAUSE_MS_MAX = 2_000, 44_000


class Injection:
    def __init__(self, spec: Json) -> None:
        self._controllers = frozenset(spec.get("controllers") or ())
        self._resources = frozenset(spec.get("resources") or ())
        self._chance = Chance(int(spec.get("seed") or 0))
        likely = {each["name"]: each["percent"] / 100 for each in spec.get("faults") or ()}
        self._of_calls = _weights(CALL_FAULTS, likely)
        self._of_reads = tuple(each for each in self._of_calls if each[0] != "racing_write")
        self._of_watches = _weights(WATCH_FAULTS, likely)
        self._of_plane = _weights(PLANE_FAULTS, likely)

    @property
    def injected(self) -> Mapping[str, int]:
        """Faults that have fired."""
        return self._chance.fired

    def fate_of_call(self, controller: str, request: Request) -> str:
        if controller not in self._controllers or not self._of_calls:
            return ""
        weights = self._of_reads if request.verb in READ_VERBS else self._of_calls
        return self._chance.faults("call", _actor(controller, request)).pick(weights)

    def fate_of_watch(self, resource: str) -> str:
        if resource not in self._resources or not self._of_watches:
            return ""
        return self._chance.faults("watch", resource).pick(self._of_watches)

    def pause_seconds(self) -> float:
        faults = self._chance.faults("pause", "")
        if not self._of_plane or not faults.pick(self._of_plane):
            return 0.0
        drawn = self._chance.details("pause.ms", faults).choose(_PAUSE_MS_MAX)
        return (_PAUSE_MS_MIN + drawn) / 1000

    def delay_seconds(self, label: str, actor: str, ms_max: int) -> float:
        """How long what was struck just now takes."""
        return (1 + self._chance.stream(label, actor).choose(ms_max)) / 1000


def _weights(names: tuple[str, ...], likely: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((name, likely[name]) for name in names if name in likely)


def _actor(controller: str, request: Request) -> str:
    return f"{controller} {request.verb} {what_of(request)}"


def answer_when(fault: str) -> Outcome:
    """What a caller hears when this fault has struck its request: the server was not asked, or not heard."""
    if fault == "throttled":
        busy = TooManyRequests("the server is busy; try again later", retry_after_seconds=1)
        return Refused(busy.status, busy.reason, str(busy), "later")
    return Unknown("no answer in time")
