"""The order of turns does not depend on how Python happens to hash strings in this process."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
from fairlead.queue.entry import Priority
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue
from fairlead.store.contract import Key

queue = WorkQueue(QueueSettings(hot_turns_max=1, rate_per_second=50.0, rate_burst=5))
now, working = 0.0, []
for number in range(3000):
    now += (number * 7 % 10) / 100
    key = Key("pods", f"team-{number * 13 % 7}", f"web-{number * 31 % 57}")
    queue.add_at(key, now, now + number % 3, Priority(number % 3))
    turn = queue.pop(now)
    if turn is not None:
        print(turn)
        working.append(turn.key)
    if number % 2 and working:
        key = working.pop(0)
        if number % 5 == 0:
            queue.retry(key, now, number % 100 / 100)
        queue.done(key, now)
print(queue.snapshot(now), queue.take_reports())
"""


def told_with(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_two_processes_with_different_hash_seeds_give_the_same_turns() -> None:
    first = told_with("1")
    assert "Quarantined" in first
    assert first == told_with("2")
