"""Every planted bug: its number in the list of bugs that real control planes had, where it is looked for, who tells it.

One row per file of this folder; `tests/sim/test_zoo.py` insists. The number is 0 for bugs that are on no such list:
`pattern` says then what sort of mistake it is.
"""

from __future__ import annotations

from dataclasses import dataclass

KNOWN_BUGS = 22  # on that list

# Something was not done, or never ends.
_UNFINISHED = (
    "no-orphan",
    "ends-as-without-faults",
    "observed-generation",
    "converges",
    "people-are-served",
    "quiet-at-rest",
    "placed-at-rest",
    "writers-progress",
)


@dataclass(frozen=True, slots=True)
class Specimen:
    name: str  # of its file
    number: int
    world: str
    invariants: tuple[str, ...]  # any of which may tell it
    pattern: str


SPECIMENS: tuple[Specimen, ...] = (
    Specimen("name_not_uid", 1, "seesaw", ("justified-deletes",), "deletes by name"),
    Specimen("stale_scale_down", 2, "seesaw", ("justified-deletes",), "acts on an older spec"),
    Specimen(
        "ghost_resurrection", 3, "seesaw", ("no-ghost", "live-children"), "makes a child of a dead parent"
    ),
    Specimen("guard_first", 4, "seesaw", _UNFINISHED, "marks as done before it is done"),
    Specimen(
        "phase_lost",
        5,
        "comeback",
        ("no-stranded-marks", "repair-goes-on", *_UNFINISHED),
        "keeps the next step in memory",
    ),
    Specimen("missing_dependency", 6, "operator", _UNFINISHED, "takes the rest to be there"),
    Specimen("hash_saved_first", 7, "operator", _UNFINISHED, "notes what is to run before it runs"),
    Specimen(
        "edge_triggered_cleanup",
        8,
        "seesaw",
        ("live-children", *_UNFINISHED),
        "acts on changes, not on state",
    ),
    Specimen("flip_back", 9, "nodes", ("no-stranded-marks", *_UNFINISHED), "leaves half a step behind"),
    Specimen("expectation_miscount", 10, "seesaw", _UNFINISHED, "counts what it should see"),
    Specimen("assumed_expires", 11, "one-seat", ("capacity",), "forgets what it does not hear of"),
    Specimen(
        "timeout_read_as_failure",
        12,
        "seesaw",
        ("live-children", "no-ghost", "justified-deletes"),
        "takes no answer for a refusal",
    ),
    Specimen("bind_timeout_read_as_failure", 12, "one-seat", ("capacity",), "takes no answer for a refusal"),
    Specimen("cache_goes_back", 13, "seesaw", ("mirrors-go-on",), "reads an older state after a newer one"),
    Specimen("budget_overwritten", 14, "sched", ("disruptions-in-flight",), "repeats an old computation"),
    Specimen("budget_from_dead_controller", 15, "sched", ("fresh-allowance",), "believes an old status"),
    Specimen("orphan_never_collected", 16, "seesaw", _UNFINISHED, "acts on changes, not on state"),
    Specimen(
        "no_read_your_writes",
        17,
        "seesaw",
        ("live-children", "justified-deletes", "no-ghost"),
        "does not see its own writes",
    ),
    Specimen("zombie_leader", 18, "refused", ("one-leader",), "writes after its time as leader"),
    Specimen("controller_fight", 19, "flip-flop", ("no-fight", *_UNFINISHED), "undoes what another wrote"),
    Specimen("preemption_thrash", 20, "sched", ("preemption-ends",), "does not keep what it made room for"),
    Specimen(
        "stale_status_trusted",
        21,
        "flip-flop",
        ("live-children", "availability", "truthful-progress", *_UNFINISHED),
        "believes an old status",
    ),
    Specimen("observer_partitioned", 22, "nodes", ("silence-is-real",), "takes its own silence for others'"),
    Specimen("expectations_by_name", 0, "seesaw", _UNFINISHED, "expectations are kept by name"),
    Specimen(
        "first_come_first_served", 0, "rollouts", ("repair-goes-first",), "serves in the order of arrival"
    ),
    Specimen("wakeup_lost", 0, "seesaw", _UNFINISHED, "a wake-up is lost while an attempt is under way"),
    Specimen("swap_on_old_read", 0, "seesaw", _UNFINISHED, "compare-and-swap on an old read"),
    Specimen("order_of_a_list", 0, "shrink", ("justified-deletes",), "a choice follows the order of a list"),
    Specimen(
        "lease_by_remote_clock",
        0,
        "seesaw",
        ("leases-run-out",),
        "a lease is judged by a remote clock",
    ),
    Specimen(
        "duplicate_reservation",
        0,
        "reserve",
        ("one-reservation", "ends-as-without-faults"),
        "decides on what the former leader did not see yet",
    ),
    Specimen("no_resync", 0, "seesaw", _UNFINISHED, "never looks at everything again"),
    Specimen("status_write_loop", 0, "seesaw", _UNFINISHED, "writes because it wrote"),
    Specimen("decider_raises", 0, "flip-flop", ("deciders-do-not-raise",), "does not survive a surprise"),
    Specimen("refusal_read_as_stuck", 0, "refused", ("refusals-end",), "takes a wait for the end"),
    Specimen("status_skipped_on_refusal", 0, "refused", ("refusals-end",), "reports nothing while it waits"),
    Specimen(
        "older_list_believed",
        0,
        "older-list",
        ("outlives-the-plane",),
        "reads an older state after a newer one",
    ),
    Specimen("told_before_it_runs", 0, "fenced-full", ("runs-while-leased",), "waits for what need not be"),
    Specimen("deadline_for_all", 0, "nodes", ("outlives-the-plane",), "ends what should outlive it"),
    Specimen(
        "deadline_assumed", 0, "nodes", ("at-most-one", "silence-is-real"), "trusts what nobody promised"
    ),
    Specimen(
        "judged_by_wall_clock",
        0,
        "clocks",
        ("silence-is-real", "events-flow", "led-at-rest", *_UNFINISHED),
        "takes the wall clock for time",
    ),
    Specimen("slot_again", 0, "clocks", ("slots-run-once",), "forgets what has had its turn"),
    Specimen("part_read_as_whole", 0, "together", ("placed-at-rest",), "takes some of it for all of it"),
    Specimen(
        "own_write_hides_others",
        0,
        "risk-api",
        ("truthful-progress", *_UNFINISHED),
        "sees its own change only",
    ),
    Specimen(
        "lag_read_as_absence",
        0,
        "garbage-kubernetes",
        ("collected-justly", "live-children", "one-identity"),
        "takes what it does not see for gone",
    ),
    Specimen("late_child_kept", 0, "garbage-kubernetes", ("no-orphan",), "acts on changes, not on state"),
    Specimen(
        "deleting_is_gone", 0, "garbage-kubernetes", ("collected-justly", "live-children"), "acts too early"
    ),
    Specimen(
        "unlisted_read_as_empty",
        0,
        "custom-kubernetes",
        ("collected-justly",),
        "takes what it does not see for gone",
    ),
    Specimen("lease_of_nobody", 0, "twins", ("runs-once",), "does not ask whose lease it is"),
    Specimen("lost_pods_keep_quota", 0, "quota-repair", ("repair-goes-on",), "counts what is lost"),
    Specimen("loans_unseen", 0, "cohort", ("quota-kept",), "judges by its own part alone"),
    Specimen("place_left_open", 0, "quota-return", ("resource-quota-kept",), "takes back too late"),
    Specimen("silence_unheard", 0, "silent-drain", ("fresh-allowance",), "believes an old status"),
    Specimen("suspects_count", 0, "silent-flip", ("sound-capacity",), "believes an old status"),
    Specimen("original_deleted_unseen", 0, "silent-flip", ("originals-kept",), "acts too early"),
    Specimen(
        "damage_read_as_absence",
        0,
        "bit-rot",
        ("damaged-is-there", "justified-deletes", "live-children"),
        "takes what it cannot read for gone",
    ),
    Specimen("damaged_overwritten", 0, "bit-rot", ("damaged-is-there",), "writes over what it cannot read"),
    Specimen("stand_in_unseen", 0, "bit-rot", ("damaged-is-there",), "takes what it cannot read for gone"),
    Specimen("frame_skipped", 0, "rollouts", ("mirrors-at-rest", *_UNFINISHED), "loses one change of many"),
    Specimen(
        "never_rolls_out", 0, "rollouts", ("templates-reach-pods", *_UNFINISHED), "says that it is done"
    ),
    Specimen("written_on_old_read", 0, "rollouts", ("writers-progress",), "writes what it once read"),
    Specimen("revisions_given_twice", 0, "lost-log", ("revisions-increase",), "numbers begin again"),
    Specimen(
        "lost_revisions_served", 0, "lost-log", ("lost-revisions-are-gone",), "goes on from what was lost"
    ),
    Specimen("older_list_ignored", 0, "lost-log", _UNFINISHED, "holds its copy for the truth"),
    Specimen(
        "no_room_for_claims", 0, "full-disk", ("full-disk-serves",), "has no room left for what must go on"
    ),
    Specimen(
        "deletions_refused_when_full",
        0,
        "full-disk",
        ("full-disk-serves",),
        "has no room left for what must go on",
    ),
    Specimen(
        "full_disk_told_as_done", 0, "full-disk", ("acknowledged-is-kept",), "answers before it is kept"
    ),
    Specimen(
        "contradicted_at_once", 0, "late-marks", ("no-fight",), "answers a contradiction with the same word"
    ),
    Specimen(
        "policies_of_yesterday", 0, "policies", ("policies-are-followed",), "judges by what it once read"
    ),
    Specimen(
        "new_rules_unseen",
        0,
        "rules",
        ("policies-are-followed", "writers-have-rights"),
        "judges by what it once read",
    ),
    Specimen(
        "approved_by_address",
        0,
        "certificates",
        ("certificates-are-approved",),
        "takes a right for another",
    ),
    Specimen("late_mark_kept", 0, "late-marks", ("no-stranded-marks",), "looks at what it marked no more"),
    Specimen(
        "gathers_for_itself",
        0,
        "roles",
        ("roles-are-gathered", *_UNFINISHED),
        "is not woken by all that it reads",
    ),
    Specimen(
        "late_policy_unheeded", 0, "late-policy", ("bound-once", *_UNFINISHED), "looks only at what is there"
    ),
    Specimen("target_by_its_text", 0, "overrides", ("overrides-are-kept",), "matches by the letter"),
    Specimen(
        "ends_with_the_object",
        0,
        "overrides",
        ("overrides-are-kept", "ended-overrides-are-forgotten"),
        "leaves an end to a clean-up",
    ),
    Specimen(
        "overrides_heard_of", 0, "overrides", ("overrides-are-kept",), "keeps what it was told in memory"
    ),
    Specimen(
        "pause_remembered",
        0,
        "overrides",
        ("ended-overrides-are-forgotten",),
        "remembers beyond its end what held",
    ),
    Specimen("raised_by_own_clock", 0, "raised", ("preemption-ends",), "judges by its own clock alone"),
    Specimen(
        "bounds_of_yesterday",
        0,
        "autoscaling",
        ("scales-within-bounds", *_UNFINISHED),
        "judges by what it once read",
    ),
    Specimen(
        "waiting_read_as_demand",
        0,
        "autoscaling",
        ("amplification-bounded", *_UNFINISHED),
        "takes a wait for demand",
    ),
    Specimen(
        "window_forgotten",
        0,
        "autoscaling",
        ("amplification-bounded", *_UNFINISHED),
        "begins to count anew with each look",
    ),
    Specimen(
        "recommendations_forgotten",
        0,
        "autoscaling",
        ("no-flapping",),
        "keeps in memory what must survive it",
    ),
    Specimen(
        "past_kept_in_memory",
        0,
        "objectives",
        ("objectives-remember",),
        "keeps in memory what must survive it",
    ),
    Specimen("grants_once_held", 0, "grants", ("grants-end",), "remembers an answer beyond its end"),
    Specimen("event_forgotten", 0, "restarts", ("writers-progress",), "takes no answer for a refusal"),
    Specimen(
        "step_noted_apart", 0, "runbooks", ("runs-keep-their-word", *_UNFINISHED), "notes apart what it does"
    ),
    Specimen(
        "begins_anew_elsewhere",
        0,
        "two-servers",
        ("mirrors-go-on",),
        "reads an older state after a newer one",
    ),
    Specimen("run_overwritten", 0, "runbooks", ("runs-keep-their-word",), "writes what it once read"),
)
