"""Faults that are drawn for a live plane: by seed and name, only of what an experiment is about, and carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.control.instructions import Call
from fairlead.port.outcome import Done, Outcome, Refused, Unknown
from fairlead.port.request import Request
from fairlead.runtime.chaos_faults import Striking
from fairlead.sim.injection import Injection

CREATE = Request("create", "", "v1", "pods", "shop")
GET = Request("get", "", "v1", "pods", "shop", "web")


def injection(percent: int = 50, seed: int = 0, **faults: int) -> Injection:
    named = faults or {"reply_lost": percent}
    return Injection(
        {
            "seed": seed,
            "controllers": ["replicaset"],
            "resources": ["pods"],
            "faults": [{"name": name, "percent": each} for name, each in named.items()],
        }
    )


def test_the_same_seed_strikes_the_same_requests() -> None:
    def drawn(seed: int) -> list[str]:
        found = injection(seed=seed)
        return [found.fate_of_call("replicaset", CREATE) for _ in range(200)]

    assert drawn(3) == drawn(3) != drawn(4)
    assert 60 < drawn(3).count("reply_lost") < 140


def test_nothing_else_is_struck() -> None:
    found = injection(100)
    assert found.fate_of_call("scheduler", CREATE) == ""
    assert found.fate_of_watch("pods") == ""
    assert found.pause_seconds() == 0.0
    lagging = injection(watch_lag=100)
    assert (lagging.fate_of_watch("nodes"), lagging.fate_of_watch("pods")) == ("", "watch_lag")
    assert injection(racing_write=100).fate_of_call("replicaset", GET) == "", "nobody races for what is read"


def test_a_pause_is_longer_than_a_moment_and_bounded() -> None:
    pauses = [injection(plane_pause=100, seed=seed).pause_seconds() for seed in range(20)]
    assert all(2.0 <= each < 46.0 for each in pauses)
    assert len(set(pauses)) > 10


class Loop:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Callable[..., None], tuple[Any, ...]]] = []

    def call_later(self, seconds: float, act: Callable[..., None], *arguments: Any) -> None:
        self.later.append((seconds, act, arguments))

    def call_soon(self, act: Callable[..., None], *arguments: Any) -> None:
        self.call_later(0.0, act, *arguments)

    def run(self) -> list[float]:
        due, self.later = self.later, []
        for _, act, arguments in due:
            act(*arguments)
        return [seconds for seconds, *_ in due]


def struck(fault: str) -> tuple[list[str], list[Outcome], list[float]]:
    """What is sent, what is heard, and after how long."""
    loop = Loop()
    nothing: Any = None
    chaos = Striking(loop, nothing, lambda: 0.0, nothing)  # type: ignore[arg-type]
    chaos._running, chaos.ends = injection(**{fault: 100}), 60.0
    sent: list[str] = []
    heard: list[Outcome] = []

    def send(answer: Callable[[Outcome], None]) -> None:
        sent.append("sent")
        answer(Done(7))

    assert chaos.strikes(Call(1, "replicaset", CREATE), send, heard.append) == fault
    delays = loop.run()
    return sent, heard, delays + loop.run()


@pytest.mark.parametrize(
    ("fault", "sent", "heard"),
    [
        ("request_lost", 0, Unknown),
        ("request_late", 1, Unknown),
        ("reply_lost", 1, Unknown),
        ("request_slow", 1, Done),
        ("throttled", 0, Refused),
    ],
)
def test_each_fault_does_what_the_simulator_says(fault: str, sent: int, heard: type) -> None:
    did, outcomes, delays = struck(fault)
    assert (len(did), [type(each) for each in outcomes]) == (sent, [heard])
    assert all(seconds <= 15.0 for seconds in delays)
    if heard is Unknown:
        assert max(delays) >= 10.0, "the caller waits before it gives up"


def test_a_pause_holds_the_plane_and_lets_it_go_on_at_the_latest_when_the_experiment_ends() -> None:
    nothing: Any = None
    now, did = [0.0], list[str]()
    chaos = Striking(nothing, nothing, lambda: now[0], nothing)
    chaos.hold, chaos.go_on = lambda: did.append("hold"), lambda: did.append("go on")
    spec = {"faults": [{"name": "plane_pause", "percent": 100}]}
    chaos.begin("u1", spec, 100.0)
    chaos.begin("u1", spec, 900.0)
    assert chaos.ends == 100.0, "it runs already"
    for second in range(1, 140):
        now[0] = float(second)
        chaos.look()
    assert did[::2] == ["hold"] * (len(did) // 2)
    assert did[1::2] == ["go on"] * (len(did) // 2)
    assert len(did) >= 4
    assert not chaos.experiment, "it ends by itself"
    chaos.begin("u2", spec, 200.0)
    chaos.look()
    did.clear()
    chaos.end()
    assert did == ["go on"], "it was stopped when it was ended"
