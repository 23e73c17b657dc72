"""What is told of mirrors, by planes and agents, and of the build; apart, so that an agent loads nothing of a plane."""

from __future__ import annotations

from fairlead.runtime.metrics.contract import Metric

BUILD = Metric("fairlead_build_info", "1; which version runs is in its labels.", ("version",))
_OF_MIRROR = ("resource",)
MIRROR_OBJECTS = Metric("fairlead_mirror_objects", "Objects in the plane's copy of a resource.", _OF_MIRROR)
MIRROR_UNREADABLE = Metric("fairlead_mirror_unreadable", "Objects that could not be decoded.", _OF_MIRROR)
MIRROR_REVISION = Metric(
    "fairlead_mirror_revision", "Everything up to this revision is in the copy.", _OF_MIRROR
)
MIRROR_FOLLOWING = Metric("fairlead_mirror_following", "1 while the copy follows a watch.", _OF_MIRROR)
MIRROR_GAP = Metric(
    "fairlead_mirror_behind_revisions",
    "From the copy to the newest change of its resource, in revisions of the store; 0 is exact.",
    _OF_MIRROR,
)
MIRROR_LAG = Metric(
    "fairlead_mirror_behind_seconds",
    "How old the oldest change is that the copy lacks, or for how long it has not been following.",
    _OF_MIRROR,
)
MIRROR_LISTS = Metric("fairlead_mirror_lists_total", "How often a resource was listed whole.", _OF_MIRROR)
