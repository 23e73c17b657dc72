"""What pods use goes with the lease while somebody wants it: without a write of its own, and not a moment longer."""

from __future__ import annotations

from fairlead.agent import contract as c
from fairlead.agent.lease import FOLLOWED_TOLD_SECONDS
from fairlead.core.times import timestamp
from fairlead.model.kinds.lease import KIND
from fairlead.model.marks import PROXY_FOLLOWS, USAGE, USAGE_WANTED_UNTIL
from fairlead.port.usage import Amount, ContainerUsage, NodeUsage, PodUsage, read_usage
from tests.unit.agent.room import NODE, Room, running


def measured(at: float, nanos: int) -> c.Measured:
    pods = (PodUsage("uid-1", at, 10.0, (ContainerUsage("main", Amount(nanos, 7)),)),)
    return c.Measured(NodeUsage(at, 10.0, Amount(0, 0), pods), at)


def want(room: Room, until: str) -> None:
    room.api.patch(f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": {USAGE_WANTED_UNTIL: until}}})
    room.publish()
    room.settle()


def told(room: Room) -> str | None:
    text: str | None = (room.lease()["metadata"].get("annotations") or {}).get(USAGE)
    return text


def test_nothing_is_told_unless_it_is_wanted() -> None:
    room = running()
    room.tell(measured(room.now, 5))
    room.pass_time(30)
    assert told(room) is None
    want(room, "soon")  # no time
    room.pass_time(30)
    assert told(room) is None


def test_it_goes_with_the_renewals_until_it_is_wanted_no_more() -> None:
    room = running()
    want(room, timestamp(room.now + 60))
    room.tell(measured(room.now, 5))
    renewals = room.agent.heartbeat.renewals
    at = room.now
    room.pass_time(20)
    found = read_usage(told(room) or "")
    assert found is not None
    assert (found.at, found.pods) == (at, {"uid-1": {"main": Amount(5, 7)}})
    assert room.agent.heartbeat.renewals - renewals == 2  # as many as without it
    room.pass_time(60)
    assert told(room) is None


def test_a_renewal_that_tells_usage_is_a_heartbeat_and_one_that_tells_more_is_not() -> None:
    def lease(renewed: str, **annotations: str) -> dict[str, object]:
        return {"metadata": {"name": "n", "annotations": annotations}, "spec": {"renewTime": renewed}}

    before = lease("2026-01-01T00:00:00.000000Z", **{USAGE: "one"})
    assert KIND.heartbeat(lease("2026-01-01T00:00:10.000000Z", **{USAGE: "two"}), before)
    assert KIND.heartbeat(lease("2026-01-01T00:00:10.000000Z"), before)
    assert not KIND.heartbeat(lease("2026-01-01T00:00:10.000000Z", **{USAGE: "one", "mine": "x"}), before)


def test_a_node_tells_soon_whose_weights_its_proxy_follows_and_no_longer_than_it_does() -> None:
    room = running()

    def follows() -> str | None:
        text: str | None = (room.lease()["metadata"].get("annotations") or {}).get(PROXY_FOLLOWS)
        return text

    room.pass_time(0.5)
    room.agent.heartbeat.follow(("uid-1",), room.now)
    room.tell(measured(room.now, 5))  # any event: what is due is looked at after each
    room.pass_time(FOLLOWED_TOLD_SECONDS)
    assert follows() == "uid-1"
    room.pass_time(30)
    assert follows() == "uid-1"
    room.agent.heartbeat.follow((), room.now)
    room.pass_time(12)
    assert follows() is None
