"""Mutants of the promises 1 to 3: workloads outlive the control plane, and waiting is not failing."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_AGENT = "tests/unit/agent"
_NODES = "tests/unit/reconcile/nodes"
_CONTROL = "tests/unit/control"

OUTLIVING = (
    Mutant(
        1,
        "every pod gets a deadline, so that an outage ends them all",
        "agent/pod/run.py",
        "deadline = means.deadline if is_at_most_one(meta) else None",
        "deadline = means.deadline",
        (f"{_AGENT}/test_outliving.py::test_others_say_nothing_of_a_deadline",),
    ),
    Mutant(
        1,
        "a deadline that an older agent gave to every pod stays",
        "agent/pod/run.py",
        "if not bounded or is_at_most_one(view.metadata) or told_seconds(view) is not None:",
        "if bounded or is_at_most_one(view.metadata) or told_seconds(view) is not None:",
        (
            f"{_AGENT}/test_outliving.py"
            "::test_a_deadline_that_an_older_agent_gave_is_lifted_where_many_may_run",
        ),
    ),
    Mutant(
        1,
        "a pod of which at most one may run gets no deadline",
        "agent/pod/run.py",
        "deadline = means.deadline if is_at_most_one(meta) else None",
        "deadline = None",
        (
            f"{_AGENT}/test_outliving.py"
            "::test_one_of_which_at_most_one_may_run_ends_at_a_deadline_that_its_status_tells_before",
        ),
    ),
    Mutant(
        1,
        "a pod of which at most one may run starts on the word of an old mirror",
        "agent/pod/at_most_one.py",
        "if max(means.pods_revision, self._given_for) >= means.regained:",
        "if means.regained >= 0:",
        (
            f"{_AGENT}/pod/test_at_most_one.py"
            "::test_one_that_was_released_meanwhile_is_not_started_although_the_mirror_does_not_show_it",
        ),
    ),
    Mutant(
        1,
        "the API's word counts though it says that the pod was released",
        "agent/pod/at_most_one.py",
        "return pod.metadata.uid == uid and not is_released(pod)",
        "return pod.metadata.uid == uid",
        (
            f"{_AGENT}/pod/test_at_most_one.py"
            "::test_one_that_was_released_meanwhile_is_not_started_although_the_mirror_does_not_show_it",
        ),
    ),
    Mutant(
        1,
        "a renewal extends from when it was answered and not from when it was sent",
        "agent/lease.py",
        "self.deadline, self._sent_at + settings.lease_seconds",
        "self.deadline, now + settings.lease_seconds",
        (f"{_AGENT}/test_node.py::test_only_what_is_done_extends_and_from_when_it_was_sent",),
    ),
    Mutant(
        1,
        "a failed renewal is logged only when it fails otherwise than before",
        "agent/lease.py",
        'return (Log(f"{told}; {left}"),)',
        'return (Log(f"{told}; {left}"),) if news else ()',
        (f"{_AGENT}/test_outliving.py::test_every_failed_renewal_is_logged_with_the_seconds_left",),
    ),
    Mutant(
        1,
        "leases have no room on a full disk",
        "store/room.py",
        "if transaction.claim == LEASE:",
        "if transaction.claim == LEASE and not self.short:",
        (
            "tests/unit/store/test_machine.py::test_short_of_room_without_bytes_to_spare_only_leases_and_questions_are_taken",
        ),
    ),
    Mutant(
        1,
        "an agent that starts without a server ignores what was kept on its node",
        "agent/machine.py",
        "if means.away or mirror.synced or not mirror.failures or not self._watched.recalled:",
        "if mirror.failures >= 0:",
        (
            f"{_AGENT}/test_kept.py::test_what_runs_is_adopted_and_keeps_its_restarts",
            f"{_AGENT}/test_kept.py::test_what_was_lost_is_started_again_with_the_same_variables_and_address",
        ),
    ),
    Mutant(
        1,
        "what a restart needs can be read by everybody on the node",
        "runtime/node/kept_objects.py",
        "os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)",
        "os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)",
        ("tests/unit/runtime/node/test_kept_objects.py::test_it_is_read_back_and_private",),
    ),
    Mutant(
        1,
        "a pod of which at most one may run is released before its supervisor has ended it",
        "reconcile/nodes/release.py",
        "if self._now >= sure_at:\n            return None",
        "if self._now >= sure_at or allowed:\n            return None",
        (f"{_NODES}/test_release.py::test_at_most_one_waits_until_its_supervisor_has_ended_it",),
    ),
    Mutant(
        1,
        "a supervisor that accepted no deadline is taken to have one",
        "ledger/evidence.py",
        "    if allowed is None or accepted is None:\n        return NEVER",
        "    if allowed is None:\n        return NEVER\n    accepted = accepted or 40.0",
        (
            f"{_NODES}/test_release.py::test_at_most_one_whose_supervisor_accepted_no_deadline_waits_for_a_human",
        ),
        errors=("KeyError",),  # the pod was released, and is gone
    ),
    Mutant(
        1,
        "the annotation of at most one can change after the binding",
        "api/admission/sealed_pods.py",
        "if before != after:",
        "if before != after and not before:",
        ("tests/unit/api/test_sealed_pods.py::test_the_annotation_cannot_change_after_the_binding",),
    ),
    Mutant(
        1,
        "the controlling owner of such a pod can change after the binding",
        "api/admission/sealed_pods.py",
        'if sealed and held.get("uid") != wanted.get("uid")',
        'if sealed and held.get("kind") != wanted.get("kind")',
        (
            "tests/unit/api/test_sealed_pods.py::test_the_controlling_owner_cannot_change_where_it_makes_the_difference",
        ),
    ),
)

QUOTA = (
    Mutant(
        2,
        "a released pod keeps its quota when its replacement has it too",
        "ledger/handover.py",
        "return not pod.released or not (pod.metadata.deletion_timestamp or stage_of(pod))",
        "return not pod.released or not pod.metadata.deletion_timestamp",
        ("tests/unit/api/test_quota_handover.py::test_a_replacement_gets_the_quota_of_the_pod_it_replaces",),
    ),
    Mutant(
        2,
        "no released pod gives its ResourceQuota to anybody",
        "ledger/handover.py",
        "return holds_quota(pod) if stage == CREATED else holds_placement(pod)",
        "return stage == BOUND and holds_placement(pod)",
        ("tests/unit/api/test_quota_handover.py::test_a_replacement_gets_the_quota_of_the_pod_it_replaces",),
    ),
    Mutant(
        2,
        "no released pod gives its PlacementQuota to anybody",
        "ledger/handover.py",
        "return holds_quota(pod) if stage == CREATED else holds_placement(pod)",
        "return stage == CREATED and holds_quota(pod)",
        (
            "tests/unit/api/test_quota_handover.py::test_a_replacement_is_bound_on_the_quota_of_the_pod_it_replaces",
        ),
    ),
    Mutant(
        2,
        "a pod of another owner takes the quota of a released pod",
        "ledger/handover.py",
        "if mine is None or theirs is None or mine.uid != theirs.uid:",
        "if mine is None or theirs is None:",
        ("tests/unit/api/test_quota_handover.py::test_others_do_not_get_it_and_are_told_who_holds_it",),
    ),
    Mutant(
        2,
        "a node says of its pod that it was released",
        "api/admission/plane_conditions.py",
        "if new is None or is_plane(user):",
        'if new is None or is_plane(user) or user.name.startswith("system:node:"):',
        ("tests/unit/api/test_quota_handover.py::test_nobody_but_the_plane_says_that_a_pod_was_released",),
    ),
    Mutant(
        2,
        "the original goes although its replacement never ran",
        "reconcile/nodes/returned.py",
        "if twin is not None and twin.ready and not is_out_of_reach(self._view, twin):",
        "if twin is not None:",
        (f"{_NODES}/test_returned.py::test_which_of_two_stays",),
    ),
    Mutant(
        2,
        "a replacement takes no released pod's place, so that both are counted for",
        "reconcile/replacements.py",
        "if uid in replaced:",
        "if not uid:",
        (f"{_NODES}/test_released_children.py::test_a_set_that_grows_does_not_replace_the_same_pod_again",),
    ),
    Mutant(
        2,
        "explain does not name the released pods that hold what another lacks",
        "explain/released.py",
        "if quotas and holding:",
        "if quotas and not holding:",
        ("tests/unit/explain/test_released.py::test_released_pods_are_named_where_they_are_in_the_way",),
    ),
)

WAITING = (
    Mutant(
        3,
        "a quota that is raised or used less wakes nobody",
        "control/refusal_waits.py",
        "before.spec != after.spec or _fell(before.status.used, after.status.used)",
        "False",
        (f"{_CONTROL}/test_waiting.py::test_pods_that_a_quota_refuses_are_made_when_it_eases",),
    ),
    Mutant(
        3,
        "a PriorityClass that comes late wakes nobody",
        "control/refusal_waits.py",
        '_IN_NONE = ("priorityclasses.scheduling.k8s.io",)',
        '_IN_NONE = ("runtimeclasses.node.k8s.io",)',
        (f"{_CONTROL}/test_waiting.py::test_pods_whose_priority_class_comes_late",),
    ),
    Mutant(
        3,
        "a LimitRange that goes wakes nobody",
        "control/refusal_waits.py",
        '_IN_NAMESPACE = ("resourcequotas", "limitranges",',
        '_IN_NAMESPACE = ("resourcequotas",',
        (f"{_CONTROL}/test_waiting.py::test_pods_that_a_limit_range_refused_are_made_when_it_goes",),
    ),
    Mutant(
        3,
        "the status is not reported in the turn whose creates were refused",
        "control/refusals.py",
        "if not rest.effects:",
        "if rest.effects:",
        (f"{_CONTROL}/test_waiting.py::test_what_there_is_under_a_quota_is_reported",),
        errors=("KeyError",),  # there is no such field in a status that was never written
    ),
    Mutant(
        3,
        "a refusal that another object may lift is told as stuck",
        "control/refusals.py",
        "if not self.is_retried:",
        "if self.is_retried:",
        (f"{_CONTROL}/test_plane.py::test_a_refused_pod_is_told_in_the_condition_of_its_owner",),
    ),
    Mutant(
        3,
        "a rolling update under a quota of as many pods waits for ever",
        "reconcile/deployment/rollout.py",
        "if is_share and is_refused else bounds",
        "if is_share and is_refused and not bounds.surge else bounds",
        (f"{_CONTROL}/test_waiting.py::test_a_rolling_update_under_a_quota_of_as_many_pods_completes",),
    ),
    Mutant(
        3,
        "a change of the set itself has to wait for the back-off",
        "control/refusals.py",
        "return not now.metadata.generation or was.metadata.generation != now.metadata.generation",
        "return not now.metadata.generation",
        (f"{_CONTROL}/test_waiting.py::test_a_set_whose_own_template_is_changed_is_tried_at_once",),
    ),
)

WORKLOADS = (*OUTLIVING, *QUOTA, *WAITING)
