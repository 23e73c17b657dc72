"""Mutants of the promises 4 to 6: what silence, clocks and conditions are evidence of."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_NODES = "tests/unit/reconcile/nodes"
_CONTROL = "tests/unit/control"

SUSPECTS = (
    Mutant(
        4,
        "a rollout shrinks by what sets tell of pods that nobody hears of",
        "reconcile/deployment/caution.py",
        "return safe, safe != sizes",
        "return sizes, safe != sizes",
        (
            "tests/unit/reconcile/deployment/test_caution.py"
            "::test_old_pods_are_not_given_up_for_new_ones_whose_node_nobody_hears",
            "tests/unit/reconcile/deployment/test_caution.py"
            "::test_a_rollback_keeps_the_new_pods_that_work_while_the_old_ones_are_out_of_reach",
        ),
    ),
    Mutant(
        4,
        "a node that has missed a renewal, and is not marked yet, counts as heard",
        "reconcile/nodes/reach.py",
        "return node is not None and (is_closed(node) or has_missed(view, name))",
        "return node is not None and is_closed(node)",
        (
            f"{_NODES}/test_reach.py"
            "::test_a_node_is_within_reach_until_a_renewal_is_missed_and_when_it_gives_no_evidence",
        ),
    ),
    Mutant(
        4,
        "pods of a node that is marked justify an eviction",
        "api/heard_nodes.py",
        "return self.is_marked(read, node) or self._is_overdue(read, node, now)",
        "return self._is_overdue(read, node, now)",
        ("tests/unit/api/test_eviction.py::test_pods_of_a_silent_node_justify_no_eviction",),
    ),
    Mutant(
        4,
        "pods of a node that missed a renewal justify an eviction",
        "api/heard_nodes.py",
        "return self.is_marked(read, node) or self._is_overdue(read, node, now)",
        "return self.is_marked(read, node)",
        (
            "tests/unit/api/test_eviction.py"
            "::test_pods_of_a_node_that_missed_a_renewal_justify_no_eviction_though_nothing_is_marked_yet",
        ),
    ),
)

CLOCKS = (
    Mutant(
        5,
        "the clock of a process follows the wall clock",
        "runtime/clock.py",
        "return round((self.steady() + self._anchor) * 1e6) / 1e6",
        "return self.wall()",
        (
            "tests/unit/runtime/test_clock.py"
            "::test_it_does_not_follow_the_wall_clock_and_tells_how_far_that_is_ahead",
        ),
    ),
    Mutant(
        5,
        "turns of requests go by a clock of the machine, whatever clock the server was given",
        "runtime/server/serving.py",
        "self.store, self._clock.steady)",
        "self.store, time.monotonic)",
        ("tests/deterministic/test_cluster.py::test_the_clocks_of_the_machine_are_nothing_to_a_run",),
    ),
    Mutant(
        5,
        "a step of the wall clock is not noticed",
        "runtime/clock.py",
        "if abs(moved) < CLOCK_STEP_SECONDS_MIN",
        "if moved < CLOCK_STEP_SECONDS_MIN",
        (
            "tests/unit/runtime/test_clock.py"
            "::test_it_does_not_follow_the_wall_clock_and_tells_how_far_that_is_ahead",
        ),
    ),
    Mutant(
        5,
        "an instant that the wall clock shows again runs again",
        "reconcile/job/cronjob.py",
        "return parse_time(cron.status.last_schedule_time)",
        "return min(parse_time(cron.status.last_schedule_time), view.wall(now) - 120)",
        (f"{_CONTROL}/test_clock_steps.py::test_what_the_wall_clock_shows_again_is_not_run_again",),
    ),
    Mutant(
        5,
        "instants that the wall clock passed by are lost without a word",
        "reconcile/job/cronjob.py",
        "elif passed > 1:",
        "elif passed > 10_000:",
        (f"{_CONTROL}/test_clock_steps.py::test_what_the_wall_clock_passes_by_is_missed_with_a_word",),
    ),
    Mutant(
        5,
        "what is due by the wall clock goes by the plane's own time",
        "cache/wall_clock.py",
        "return at + self.ahead(at)",
        "return at",
        (f"{_CONTROL}/test_clock_steps.py::test_what_the_wall_clock_passes_by_is_missed_with_a_word",),
    ),
    Mutant(
        5,
        "certificates expire by the wall clock, which somebody set",
        "wire/validity.py",
        "context.verify_flags |= _NO_CHECK_TIME",
        "context.verify_flags |= ssl.VerifyFlags(0)",
        ("tests/unit/wire/test_validity.py::test_one_that_has_expired_by_the_wall_clock_alone_is_taken",),
        errors=("Untrusted",),
    ),
)

ONE_REASON = (
    Mutant(
        6,
        "a pod whose binding is retried is told as unschedulable",
        "control/attempts.py",
        'condition = Condition(_SCHEDULED, "False", RETRYING, message, since, owner=owner_of(QUEUED, RETRYING))',
        'condition = Condition(_SCHEDULED, "False", UNSCHEDULABLE, message, since)',
        (f"{_CONTROL}/test_binding_retries.py::test_a_binding_that_is_tried_again_is_told_with_its_attempt",),
    ),
    Mutant(
        6,
        "a binding that is retried is told without its attempt",
        "control/attempts.py",
        'f"{why} (attempt {attempt})"',
        'f"{why}"',
        (f"{_CONTROL}/test_binding_retries.py::test_a_binding_that_is_tried_again_is_told_with_its_attempt",),
    ),
    Mutant(
        6,
        "a Deployment does not tell how many of its pods nobody hears of",
        "reconcile/deployment/status.py",
        "unknown_replicas=unknown,",
        "unknown_replicas=0,",
        (
            f"{_CONTROL}/test_unknown_replicas.py::test_pods_of_a_silent_node_are_unknown_until_it_is_heard_again",
        ),
    ),
    Mutant(
        6,
        "a pod of a silent node has another owner in progress than its marks name",
        "model/stages.py",
        "if released is not None and is_ahead:  # why its release waits says more",
        "if released is None:",
        (
            "tests/unit/explain/test_one_owner.py::test_a_pod_of_a_silent_node_has_the_owner_that_its_marks_name",
        ),
    ),
    Mutant(
        6,
        "the owner of a reason that a condition names is looked up elsewhere",
        "model/stages.py",
        "owner = scheduled.owner or owner_of(QUEUED, scheduled.reason)",
        "owner = owner_of(QUEUED, scheduled.reason)",
        ("tests/unit/explain/test_one_owner.py::test_progress_explain_and_conditions_say_the_same",),
    ),
)

EVIDENCE = (*SUSPECTS, *CLOCKS, *ONE_REASON)
