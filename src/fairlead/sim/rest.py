"""Whether a world is at rest although time has not shown it yet: nothing but leases is due for a while.

A run is at rest when nothing was written for `quiet_seconds`. Where all that is going to happen in that time can be
looked up (no message is under way, every plane follows, none has a turn, and what its controllers are waiting for is
further away), the seconds need not pass: nothing would be in them but renewals. Asked by `world.py` for scenarios that
look ahead; worlds with machines of their own have more that waits, and let the time pass.

Where several are refused, or fit nowhere, one or another of them is due at any time. Such a world is at rest when for
WAIT_BACKOFF_MAX_SECONDS, in which each was tried once more (pods that fit nowhere are looked at as often), nothing was
written but the Events that tell so again.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.time import Timeline


def nothing_is_due(timeline: Timeline, planes: Sequence[PlaneProcess], quiet_seconds: float) -> bool:
    """Until then nobody would do anything but renew a lease."""
    for process in planes:
        if not process.up or process.is_paused or not process.follows:
            return False
    if not any(each.plane.leadership.may_act(each.now) for each in planes):
        return False  # somebody will come to lead, and look at everything
    for act, arguments in timeline.waiting():  # the cheaper question first
        if not PlaneProcess.is_timer(act, arguments):
            return False
    return are_idle(planes, quiet_seconds)


def are_idle(planes: Sequence[PlaneProcess], seconds: float) -> bool:
    """For so long, if they are told nothing. Of one that does not lead nothing is due: a look that it postponed when it
    led waits until it leads again."""
    if not all(each.up for each in planes):
        return False
    leading = [each for each in planes if each.plane.leadership.may_act(each.now)]
    return bool(leading) and all(
        each.plane.rests_until(each.now, each.now + seconds) >= each.now + seconds for each in leading
    )
