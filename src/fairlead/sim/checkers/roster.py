"""Every checker there is. One list: a world runs them all."""

from __future__ import annotations

from fairlead.sim.checkers.addresses import OneAddress
from fairlead.sim.checkers.allowances import FreshAllowance
from fairlead.sim.checkers.amplification import AmplificationBounded
from fairlead.sim.checkers.at_most_one import AtMostOne
from fairlead.sim.checkers.availability import Availability
from fairlead.sim.checkers.bound_once import BoundOnce
from fairlead.sim.checkers.capacity import Capacity
from fairlead.sim.checkers.certificates import CertificatesAreApproved
from fairlead.sim.checkers.collected_justly import CollectedJustly
from fairlead.sim.checkers.contract import Checker
from fairlead.sim.checkers.damage import DamagedIsThere
from fairlead.sim.checkers.disruptions import DisruptionsInFlight
from fairlead.sim.checkers.ends_in_time import EndsInTime
from fairlead.sim.checkers.events_flow import EventsFlow
from fairlead.sim.checkers.finished_jobs import FinishedJobs
from fairlead.sim.checkers.flapping import NoFlapping
from fairlead.sim.checkers.grants import GrantsEnd
from fairlead.sim.checkers.identities import OneIdentity
from fairlead.sim.checkers.justified_deletes import JustifiedDeletes
from fairlead.sim.checkers.justified_removals import JustifiedRemovals
from fairlead.sim.checkers.leases import LeasesRunOut
from fairlead.sim.checkers.led_at_rest import LedAtRest
from fairlead.sim.checkers.live_children import LiveChildren
from fairlead.sim.checkers.no_fight import NoFight
from fairlead.sim.checkers.no_ghost import NoGhost
from fairlead.sim.checkers.no_leftover import NoLeftover
from fairlead.sim.checkers.no_orphan import NoOrphan
from fairlead.sim.checkers.objectives import ObjectivesRemember
from fairlead.sim.checkers.observed_generation import ObservedGeneration
from fairlead.sim.checkers.one_leader import OneLeader
from fairlead.sim.checkers.originals_kept import OriginalsAreKept
from fairlead.sim.checkers.outliving import OutlivesThePlane
from fairlead.sim.checkers.overrides import OverridesAreKept
from fairlead.sim.checkers.placed_at_rest import PlacedAtRest
from fairlead.sim.checkers.pod_numbers import ResourceQuotaKept
from fairlead.sim.checkers.policies import PoliciesAreFollowed
from fairlead.sim.checkers.preemption import PreemptionEnds
from fairlead.sim.checkers.progress import TruthfulProgress
from fairlead.sim.checkers.quiet import QuietAtRest
from fairlead.sim.checkers.quota_sums import QuotaIsTheSum
from fairlead.sim.checkers.quotas import QuotaKept
from fairlead.sim.checkers.refusals import RefusalsEnd
from fairlead.sim.checkers.releases import ReleasesKeepLimits
from fairlead.sim.checkers.repair_goes_on import RepairGoesOn
from fairlead.sim.checkers.replacements import ReplacementsFollowReleases
from fairlead.sim.checkers.reservations import OneReservation
from fairlead.sim.checkers.revisions import RevisionsIncrease
from fairlead.sim.checkers.rights import WritersHaveRights
from fairlead.sim.checkers.roles import RolesAreGathered
from fairlead.sim.checkers.runs import RunsKeepTheirWord
from fairlead.sim.checkers.runs_once import RunsOnce
from fairlead.sim.checkers.scale_bounds import ScalesWithinBounds
from fairlead.sim.checkers.silence import SilenceIsReal
from fairlead.sim.checkers.slices import SlicesAtRest
from fairlead.sim.checkers.slots import SlotsRunOnce
from fairlead.sim.checkers.sound_capacity import SoundCapacity
from fairlead.sim.checkers.stranded_marks import NoStrandedMarks
from fairlead.sim.checkers.templates import TemplatesReachPods
from fairlead.sim.checkers.truthful_at_rest import TruthfulAtRest
from fairlead.sim.checkers.under_lease import RunsWhileLeased
from fairlead.sim.checkers.writers_progress import WritersProgress

# So long a request may be under way (`sim/network.py`), a moment for each end included.
_LAG_SECONDS = 16.0


def all_checkers(fencing: bool = True) -> tuple[Checker, ...]:
    """`fencing`: whether the API refuses what a replaced leader sends, and what has lost its premise."""
    lag = 0.0 if fencing else _LAG_SECONDS
    return (
        RevisionsIncrease(),
        DamagedIsThere(),
        OneLeader(fencing),
        BoundOnce(),
        Capacity(),
        QuotaKept(),
        ResourceQuotaKept(),
        OneReservation(),
        OneAddress(),
        PreemptionEnds(lag),
        DisruptionsInFlight(),
        FreshAllowance(),
        LiveChildren(lag),
        JustifiedDeletes(lag),
        JustifiedRemovals(lag),
        Availability(),
        SoundCapacity(),
        OneIdentity(lag),
        NoGhost(lag),
        FinishedJobs(lag),
        SlotsRunOnce(),
        EventsFlow(),
        LedAtRest(),
        ObservedGeneration(),
        SilenceIsReal(),
        ReleasesKeepLimits(),
        ReplacementsFollowReleases(),
        RepairGoesOn(),
        OriginalsAreKept(),
        GrantsEnd(),
        RolesAreGathered(),
        WritersHaveRights(),
        CertificatesAreApproved(),
        ScalesWithinBounds(),
        AmplificationBounded(),
        NoFlapping(),
        ObjectivesRemember(),
        RunsKeepTheirWord(),
        CollectedJustly(),
        NoOrphan(),
        NoLeftover(),
        NoStrandedMarks(),
        PlacedAtRest(),
        RefusalsEnd(),
        WritersProgress(),
        NoFight(),
        LeasesRunOut(),
        TemplatesReachPods(),
        PoliciesAreFollowed(),
        OverridesAreKept(),
        QuotaIsTheSum(),
        SlicesAtRest(),
        TruthfulProgress(),
        QuietAtRest(),
    )


def process_checkers() -> tuple[
    AtMostOne, RunsOnce, EndsInTime, OutlivesThePlane, RunsWhileLeased, TruthfulAtRest
]:
    """Those that are told of every run of a process as well."""
    return AtMostOne(), RunsOnce(), EndsInTime(), OutlivesThePlane(), RunsWhileLeased(), TruthfulAtRest()
