"""Fixtures that several folders share."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["fairlead.testing.pytest"]

SOAK = os.environ.get("FAIRLEAD_SOAK") == "1"
# kubectl runs for a tenth of a second, a third of it to collect garbage that its end would free as well.
os.environ.setdefault("GOGC", "off")

# Bodies of generated tests are slow on a busy machine; a deadline would only measure that machine. How much of what is
# drawn is thrown away, or grows too large, differs from run to run. Where CI=true, Hypothesis draws the same each time.
settings.register_profile(
    "sample",
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    print_blob=True,
)
settings.register_profile("soak", settings.get_profile("sample"), max_examples=2000)
settings.load_profile("soak" if SOAK else "sample")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Generator[None]:
    """What is made while 13,000 tests are collected stays: nobody need look through it for garbage, then or later."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many seeds of the simulator, clusters of the oracle and rows of tables stand behind this run."""
    from tests.differential import quota as differential
    from tests.oracle import quota as oracle
    from tests.sim import quota as sim

    reports = [each for found in terminalreporter.stats.values() for each in found]
    for line in (each.quota_line(reports) for each in (sim, oracle, differential)):
        if line:
            terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """One server for a module of tests."""
    from tests.running import Running

    server = Running(tmp_path_factory.mktemp("plane") / "data")
    yield server
    server.stop()
