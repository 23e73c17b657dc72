"""Every checker lets what is right pass and tells a fabricated violation: those of each subject are in a file here."""

from __future__ import annotations

from fairlead.sim.checkers.roster import all_checkers
from tests.sim.checkers import (
    test_autoscaling,
    test_damage,
    test_disruptions,
    test_grants,
    test_objectives,
    test_oracles,
    test_placing,
    test_preemption,
    test_roles,
    test_runs,
    test_services,
    test_silence,
    test_time,
    test_workloads,
    test_writing,
)

_SUBJECTS = (
    test_autoscaling,
    test_damage,
    test_disruptions,
    test_grants,
    test_objectives,
    test_oracles,
    test_placing,
    test_preemption,
    test_roles,
    test_runs,
    test_services,
    test_silence,
    test_time,
    test_workloads,
    test_writing,
)


def test_every_checker_has_a_fabricated_violation() -> None:
    told = {invariant for subject in _SUBJECTS for invariant, _ in subject.VIOLATIONS}
    assert told == {checker.name for checker in all_checkers()}
