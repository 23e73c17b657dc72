"""Planted bugs, each known from a real control plane, that the simulator must find. One plant per file.

A plant takes the parts of a plane (`sim/parts.py`) and returns them with one (where one defence alone keeps the plane
safe: more) replaced by a faulty one. Run one with `fairlead sim run --plant fairlead.sim.zoo.FILE:plant`, and
`--world WORLD` where `WORLD_OF` names one.
"""

import pkgutil

# In which world a plant is looked for, if it is not the standard one.
WORLD_OF = {
    "assumed_expires": "sched",
    "bind_timeout_read_as_failure": "two-seats",
    "budget_from_dead_controller": "sched",
    "budget_overwritten": "sched",
    "damage_read_as_absence": "bit-rot",
    "damaged_overwritten": "bit-rot",
    "deadline_assumed": "nodes",
    "deadline_for_all": "nodes",
    "deletions_refused_when_full": "full-disk",
    "deleting_is_gone": "garbage-kubernetes",
    "duplicate_reservation": "recovery",
    "flip_back": "nodes",
    "full_disk_told_as_done": "full-disk",
    "judged_by_wall_clock": "clocks",
    "lag_read_as_absence": "garbage-kubernetes",
    "late_child_kept": "garbage-kubernetes",
    "lease_of_nobody": "twins",
    "lost_pods_keep_quota": "quota-repair",
    "lost_revisions_served": "lost-log",
    "no_room_for_claims": "full-disk",
    "observer_partitioned": "nodes",
    "original_deleted_unseen": "silent-flip",
    "older_list_ignored": "lost-log",
    "orphan_never_collected": "nodes",
    "own_write_hides_others": "risk-api",
    "part_read_as_whole": "together",
    "phase_lost": "nodes",
    "preemption_thrash": "sched",
    "place_left_open": "quota-return",
    "revisions_given_twice": "lost-log",
    "silence_unheard": "silent-drain",
    "slot_again": "clocks",
    "stand_in_unseen": "bit-rot",
    "suspects_count": "silent-flip",
    "unlisted_read_as_empty": "custom-kubernetes",
    "refusal_read_as_stuck": "refused",
    "status_skipped_on_refusal": "refused",
    "frame_skipped": "rollouts",
    "lease_by_remote_clock": "rollouts",
    "never_rolls_out": "rollouts",
    "written_on_old_read": "rollouts",
    "zombie_leader": "refused",
}


def plant_names() -> list[str]:
    """Of every file here that has a plant."""
    return sorted({module.name for module in pkgutil.iter_modules(__path__)} - {"wrapping"})
