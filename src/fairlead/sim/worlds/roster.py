"""Every world by its name, with the faults it is run with. `fairlead sim run --world` takes a name from here."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.sim.faults import DEFAULT, Faults
from fairlead.sim.scenario import Scenario
from fairlead.sim.worlds import (
    bit_rot,
    clocks,
    comeback,
    custom_kubernetes,
    flip_flop,
    fraud_batch,
    full_disk,
    garbage_kubernetes,
    grow_kubernetes,
    lost_log,
    nodes,
    one_seat,
    operator,
    quota_repair,
    quota_return,
    recovery,
    refused,
    reserve,
    risk_api,
    rollouts,
    sched,
    sched_kubernetes,
    seesaw,
    shrink,
    silent_drain,
    silent_flip,
    std20,
    together,
    twins,
    two_seats,
)

STANDARD = "std20"
WORLDS: dict[str, tuple[Callable[[], Scenario], Faults]] = {
    STANDARD: (std20.scenario, DEFAULT),
    "bit-rot": (bit_rot.scenario, bit_rot.FAULTS),
    "clocks": (clocks.scenario, clocks.FAULTS),
    "comeback": (comeback.scenario, comeback.FAULTS),
    "custom-kubernetes": (custom_kubernetes.scenario, custom_kubernetes.FAULTS),
    "fraud-batch": (fraud_batch.scenario, fraud_batch.FAULTS),
    "full-disk": (full_disk.scenario, full_disk.FAULTS),
    "lost-log": (lost_log.scenario, lost_log.FAULTS),
    "garbage-kubernetes": (garbage_kubernetes.scenario, garbage_kubernetes.FAULTS),
    "nodes": (nodes.scenario, nodes.FAULTS),
    "quota-repair": (quota_repair.scenario, quota_repair.FAULTS),
    "quota-return": (quota_return.scenario, quota_return.FAULTS),
    "recovery": (recovery.scenario, recovery.FAULTS),
    "refused": (refused.scenario, refused.FAULTS),
    "risk-api": (risk_api.scenario, risk_api.FAULTS),
    "rollouts": (rollouts.scenario, rollouts.FAULTS),
    "sched": (sched.scenario, sched.FAULTS),
    "sched-kubernetes": (sched_kubernetes.scenario, sched_kubernetes.FAULTS),
    "flip-flop": (flip_flop.scenario, flip_flop.FAULTS),
    "operator": (operator.scenario, operator.FAULTS),
    "reserve": (reserve.scenario, reserve.FAULTS),
    "grow-kubernetes": (grow_kubernetes.scenario, grow_kubernetes.FAULTS),
    "shrink": (shrink.scenario, shrink.FAULTS),
    "one-seat": (one_seat.scenario, one_seat.FAULTS),
    "seesaw": (seesaw.scenario, seesaw.FAULTS),
    "silent-drain": (silent_drain.scenario, silent_drain.FAULTS),
    "silent-flip": (silent_flip.scenario, silent_flip.FAULTS),
    "together": (together.scenario, together.FAULTS),
    "twins": (twins.scenario, twins.FAULTS),
    "two-seats": (two_seats.scenario, two_seats.FAULTS),
}
