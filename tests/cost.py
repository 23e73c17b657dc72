"""What the tests cost: seconds of a processor by folder and the dearest tests, after a run with `-p tests.cost`.

    make test ARGS="-p tests.cost"

Counted is a worker with all its children, so that servers, agents and kubectl count for the test that ran meanwhile.
Supervisors, which outlive whoever started them, do not. Seconds of a clock would tell how busy the machine was.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_PROPERTY = "cpu-seconds"
_DEAREST = 25
_TICKS = os.sysconf("SC_CLK_TCK")
_begun: dict[str, float] = {}


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    _begun[item.nodeid] = _used(os.getpid())
    yield


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    yield
    item.user_properties.append((_PROPERTY, _used(os.getpid()) - _begun.pop(item.nodeid)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    costs: dict[str, float] = {}
    for reports in terminalreporter.stats.values():
        costs.update((each.nodeid, value) for each in reports for value in _told(each))
    folders: Counter[str] = Counter()
    for test, seconds in costs.items():
        folders["/".join(test.split("/")[:2])] += seconds  # type: ignore[assignment]
    terminalreporter.write_line(f"{sum(costs.values()):.0f} seconds of a processor, without collecting")
    for name, seconds in [*folders.most_common(), *Counter(costs).most_common(_DEAREST)]:
        terminalreporter.write_line(f"{seconds:8.1f}  {name}")


def _told(report: Any) -> list[float]:
    if getattr(report, "when", "") != "teardown":
        return []
    return [value for name, value in report.user_properties if name == _PROPERTY]


def _used(pid: int) -> float:
    """By a process, those that it has waited for, and those that it has."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has just ended
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS + sum(_used(int(each)) for each in children)
