"""What the tests of the controllers share: waiting for the end of something, and seeing all that led there.

Nothing here sleeps to "let it settle": either kubectl waits for what is asked, or a question is asked again until it is
answered with yes. What happened in between is read from the server's own history of every pod.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tests.clients.kubectl import Operator

Json = dict[str, Any]
SECONDS_MAX = 90.0
# Most questions are a kubectl, which costs more than what it asks about: without a pause it would hold that up.
PAUSE_SECONDS, PAUSE_SECONDS_MAX = 0.05, 0.3
MARK = "the-end-of-what-is-asked-for"


T = TypeVar("T")


def present(value: T | None) -> T:
    """The value itself: the types of many clients say that everything may be absent."""
    assert value is not None
    return value


def eventually(holds: Callable[[], Any], seconds: float = SECONDS_MAX) -> Any:
    """What `holds` gave as soon as it was true; fails with the last that it gave."""
    deadline = time.monotonic() + seconds
    pause = PAUSE_SECONDS
    while not (found := holds()):
        assert time.monotonic() < deadline, f"still {found!r} after {seconds} s"
        time.sleep(pause)
        pause = min(pause * 1.5, PAUSE_SECONDS_MAX)
    return found


def rolled_out(team: Operator, name: str) -> str:
    """The last line of `rollout status`, which must end well."""
    return team(f"rollout status {name} --timeout={SECONDS_MAX:.0f}s").splitlines()[-1]


def items(team: Operator, what: str) -> list[Json]:
    found: list[Json] = json.loads(team.asked(f"get {what} -o json"))["items"]
    return found


def names(team: Operator, what: str) -> set[str]:
    return {each["metadata"]["name"] for each in items(team, what)}


def uids(team: Operator, what: str) -> set[str]:
    return {each["metadata"]["uid"] for each in items(team, what)}


def is_live(pod: Json) -> bool:
    ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return not ended and "deletionTimestamp" not in pod["metadata"]


def is_ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return is_live(pod) and any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def now_at(team: Operator) -> str:
    """The revision to give to `moments` later."""
    return str(json.loads(team.asked("get pods -o json"))["metadata"]["resourceVersion"])


def moments(team: Operator, since: str) -> Iterator[list[Json]]:
    """All pods of the namespace after each change of one since that revision, which must have been without pods.

    Until now: a pod that nobody places is made, and what was told before it is all there is.
    """
    gated = {"schedulingGates": [{"name": "example.com/never"}], "containers": [{"name": "c", "image": "i"}]}
    team("create -f -", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": MARK}, "spec": gated})
    there: dict[str, Json] = {}
    for event in _told(team, since):
        name = event["object"]["metadata"]["name"]
        if event["type"] == "DELETED":
            there.pop(name, None)
        else:
            there[name] = event["object"]
        yield list(there.values())


def _told(team: Operator, since: str) -> list[Json]:
    """Every change up to the mark, which is taken away again."""
    events: list[Json] = []
    with team.started(f"get --raw {_pods(team)}?watch=1&resourceVersion={since}") as watch:
        assert watch.stdout is not None
        while True:
            line = watch.stdout.readline()
            assert line, f"the watch ended after {len(events)} events"
            event = json.loads(line)
            if event["object"]["metadata"]["name"] == MARK:
                break
            events.append(event)
    team(f"delete pod {MARK}")
    return events


def _pods(team: Operator) -> str:
    return f"/api/v1/namespaces/{team.namespace}/pods"
