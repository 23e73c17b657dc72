"""HTTP both ways, on connections that split, delay, cut and half-close: clients are told the truth or nothing."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import pytest

from fairlead.port.outcome import Done
from fairlead.wire.client import HttpClient
from tests.deterministic.http_world import Witnessed, contradictions, http_world
from tests.deterministic.loop import DeterministicLoop, Stalled, play
from tests.deterministic.network import CALM
from tests.elsewhere import elsewhere

SEEDS, SOAK_SEEDS = 24, 1500


@cache
def told(seed: int) -> Witnessed:
    return play(seed, http_world)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_was_answered_is_stored_and_watches_see_every_change_or_end(seed: int) -> None:
    found = contradictions(told(seed))
    assert not found, f"seed {seed}: {found[:3]}"


@pytest.mark.soak
def test_what_was_answered_is_stored_in_many_seeds() -> None:
    for seed in range(SEEDS, SOAK_SEEDS):
        found = contradictions(play(seed, http_world))
        assert not found, f"seed {seed}: {found[:3]}"


def test_a_seed_is_one_run_to_the_last_byte_in_every_process() -> None:
    assert play(5, http_world).digest == told(5).digest != told(6).digest
    assert digests() == elsewhere(digests)


def digests() -> list[str]:
    return [told(seed).digest for seed in range(SEEDS)]


def test_every_fault_of_the_network_is_met_in_the_seeds_that_are_run() -> None:
    fired: set[str] = set()
    for seed in range(SEEDS):
        fired |= told(seed).faults.keys()
    assert fired >= {"connect.refused", "cut", "silent", "half_closed", "connection.slow", "server.killed"}


def test_on_a_calm_network_everything_is_answered() -> None:
    async def calm(loop: DeterministicLoop) -> Any:
        loop.chance.calm = True
        return await http_world(loop, CALM)

    found = play(0, calm)
    assert not contradictions(found)
    assert any(isinstance(write.outcome, Done) for write in found.writes)


def test_a_client_that_repeats_a_write_whose_answer_was_lost_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "fairlead.wire.client.REPEATABLE", frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE"})
    )
    found = (each for seed in range(50, 200) for each in contradictions(play(seed, http_world)))
    assert any("refused" in each or "more than once" in each for each in found)


def test_a_server_that_answers_before_the_write_is_durable_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.deterministic import server as servers

    def eager(self: Any, driver: Any, loop: DeterministicLoop) -> None:
        original(self, driver, loop)
        self._driver = _Eager(driver)

    class _Eager:
        """Says that a batch is durable, and forgets every third."""

        def __init__(self, driver: Any) -> None:
            self._tell, self._happened, self._count = driver._tell, driver._happened, 0
            append = driver._journal.append

            def forgetful(batch: Any) -> None:
                self._count += 1
                if self._count < 12 or self._count % 3:
                    append(batch)

            driver._journal = _With(driver._journal, forgetful)

    class _With:
        def __init__(self, journal: Any, append: Any) -> None:
            self._journal, self.append = journal, append

        def __getattr__(self, name: str) -> Any:
            return getattr(self._journal, name)

    original = servers._Jobs.__init__
    monkeypatch.setattr(servers._Jobs, "__init__", eager)
    found = [each for seed in range(4) for each in contradictions(play(seed, http_world))]
    assert any("is nowhere" in each for each in found)


def test_a_loop_on_which_nothing_can_happen_any_more_says_so() -> None:
    async def waits(loop: DeterministicLoop) -> None:
        await loop.create_future()

    with pytest.raises(Stalled, match="nothing is left") as caught:
        play(3, waits)
    assert "seed 3" in "".join(caught.value.__notes__)


def test_an_error_in_a_callback_fails_the_run() -> None:
    async def careless(loop: DeterministicLoop) -> None:
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    with pytest.raises(ZeroDivisionError):
        play(0, careless)


def test_a_client_is_told_within_its_time_however_silent_the_server_is() -> None:
    from fairlead.wire.client import Broken
    from fairlead.wire.client_protocol import Address
    from tests.deterministic.network import Network

    async def silent(loop: DeterministicLoop) -> float:
        Network(loop).serve("a", 1, asyncio.Protocol)
        client, began = HttpClient(Address("a", 1, None)), loop.time()
        with pytest.raises(Broken, match="within 7 s"):
            await client.send("GET", "/", b"", b"", 7.0)
        return loop.time() - began

    assert 7.0 <= play(0, silent) < 7.1
