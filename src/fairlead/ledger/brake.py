"""The brake of a zone or a region: how many of its nodes are silent decides how fast pods may be released there.

Pure; used by `reconcile/nodes/evidence_policy.py`, which writes the result into the EvidencePolicy's status, and by the
simulator's checkers. Many nodes that fall silent together are more likely one broken switch, or a broken observer,
than many broken nodes.

    Normal    releasesPerMinute
    Slowed    slowedReleasesPerMinute: from `slowedShare` of the zone, and no fewer than `silentNodesMin` nodes
    Stopped   nothing: from `stoppedShare` of the zone likewise, or every node there is in any zone

A region is judged by its own shares, and each of its zones is at least what the region is: a few nodes of each of many
zones are as suspicious together as many of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.core.times import parse_time
from fairlead.model.kind import Json
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.views import EvidenceRelease

NORMAL, SLOWED, STOPPED = "Normal", "Slowed", "Stopped"
STATES = (NORMAL, SLOWED, STOPPED)
_REGION_REASONS = {"ZoneSilent": "RegionSilent", "MuchSilent": "RegionMuchSilent"}
#: bound: plane | the window of a zone's releases | -
WINDOW_SECONDS = 60.0
#: bound: plane | a release is remembered for at most | forgotten
KEPT_SECONDS_MAX = 3600.0


class BrakeLimits(NamedTuple):
    releases_per_minute: float
    slowed_releases_per_minute: float
    slowed_share: float
    stopped_share: float
    silent_nodes_min: float

    def spacing(self, state: str) -> float:
        """Seconds from one release to the next; infinite where there is none."""
        rate = {NORMAL: self.releases_per_minute, SLOWED: self.slowed_releases_per_minute}.get(state, 0.0)
        return WINDOW_SECONDS / rate if rate > 0 else float("inf")


class Brake(NamedTuple):
    state: str
    reason: str
    message: str

    def within(self, region: str, found: Brake) -> Brake:
        """Of a zone in this region: the worse of both, told by its own reason where they are alike."""
        if STATES.index(found.state) <= STATES.index(self.state):
            return self
        return Brake(found.state, found.reason, f"{self.message}; region {region}: {found.message}")


def limits_of(spec: Json) -> BrakeLimits:
    given = spec.get("zones") or {}
    return BrakeLimits(
        *(
            float(default if given.get(name) is None else given[name])
            for name, default, _, _ in rows.ZONE_LIMITS
        )
    )


def region_limits_of(spec: Json) -> BrakeLimits:
    """Rates are the zones'."""
    given = spec.get("regions") or {}
    found = {
        name: float(default if given.get(name) is None else given[name])
        for name, default, _, _ in rows.REGION_LIMITS
    }
    return BrakeLimits(0.0, 0.0, found["slowedShare"], found["stoppedShare"], found["silentNodesMin"])


def region_brake_of(limits: BrakeLimits, silent: int, nodes: int) -> Brake:
    found = brake_of(limits, silent, nodes, all_silent=False)
    return found._replace(reason=_REGION_REASONS.get(found.reason, found.reason))


def brake_of(limits: BrakeLimits, silent: int, nodes: int, *, all_silent: bool) -> Brake:
    """`all_silent`: no node of any zone is heard."""
    if not silent:
        return Brake(NORMAL, "AllHeard", "every node is heard")
    told = f"{silent} of {nodes} nodes are silent"
    if all_silent:
        return Brake(
            STOPPED, "NothingHeard", "no node of any zone is heard: the observer may be the one cut off"
        )
    if silent >= limits.silent_nodes_min:
        share = silent / nodes
        if share >= limits.stopped_share:
            return Brake(STOPPED, "ZoneSilent", f"{told}, which is {limits.stopped_share:.0%} or more")
        if share >= limits.slowed_share:
            return Brake(SLOWED, "MuchSilent", f"{told}, which is {limits.slowed_share:.0%} or more")
    return Brake(NORMAL, "FewSilent", told)


def next_release_at(limits: BrakeLimits, state: str, released: Sequence[EvidenceRelease]) -> float:
    """When the next node's turn comes, the last ones counted."""
    spacing = limits.spacing(state)
    last = max((parse_time(each.at) for each in released), default=None)
    if spacing == float("inf"):
        return spacing
    return 0.0 if last is None else last + spacing


def kept_seconds(limits: BrakeLimits) -> float:
    """For how long a release must be remembered, because it delays the next."""
    spacings = [limits.spacing(NORMAL), limits.spacing(SLOWED), WINDOW_SECONDS]
    return min(KEPT_SECONDS_MAX, max(each for each in spacings if each != float("inf")))
