"""From a failing case to an artifact, and from that to the same run: to the byte, or to the first step that differs.

    record(case, plant, origin) -> Artifact         plays the case once more, with its trail
    play_again(artifact) -> Replayed                what came of it now

A replay starts from the objects in the file, not from the standing fleet: what made those may have changed since.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

import msgspec

import fairlead
from fairlead.core import codec
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.replay.artifact import (
    Artifact,
    ArtifactHead,
    RecordedController,
    RecordedObject,
    RecordedStep,
)
from fairlead.sim.backup import Backup
from fairlead.sim.chance import Chance
from fairlead.sim.divergence import Divergence, first_divergence
from fairlead.sim.documents import faults_document, faults_of, scenario_document, scenario_of
from fairlead.sim.parts import default_parts
from fairlead.sim.run import Runner
from fairlead.sim.shrink import Case
from fairlead.sim.trail import Trail, TrailStep
from fairlead.sim.world import Run
from fairlead.store.contract import ADDED, CommittedChange, Entry

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FoundBy:
    """Where a case comes from."""

    world: str
    seed: int = 0
    search: str = ""
    tried: str = ""
    size_before: int = 0


@dataclass(frozen=True, slots=True)
class Replayed:
    run: Run
    divergence: Divergence | None  # the first step that is not as it was; None: all are
    recorded: str  # the digest in the artifact

    @property
    def same(self) -> bool:
        """To the last byte: the steps, and all that chance was asked."""
        return self.divergence is None and self.run.digest == self.recorded

    @property
    def invariant(self) -> str:
        return self.run.violation.invariant if self.run.violation is not None else ""


def record(case: Case, plant: str, found: FoundBy, backup: Backup | None = None) -> Artifact:
    """`backup`: what it started from, if that is not what comes of the scenario's standing steps."""
    runner = Runner(case.scenario, case.faults_of, plant, backup=backup)
    run = runner.play(Chance(0, case.forced, calm=True), trail=True, faults=case.faults_of)
    broken = run.violation
    head = ArtifactHead(
        fairlead=fairlead.__version__,
        python=platform.python_version(),
        world=found.world,
        plant=plant,
        seed=found.seed,
        search=found.search,
        tried=found.tried,
        invariant=broken.invariant if broken else "",
        message=broken.message if broken else "",
        at_seconds=run.seconds,
        digest=run.digest,
        requests=runner.backup().requests,
        shrunk_from=found.size_before,
    )
    deciders = default_parts(*case.scenario.controllers, deciders=case.scenario.deciders)["deciders"]()
    return Artifact(
        head=head,
        scenario=_plain(scenario_document(case.scenario)),
        faults=_plain(faults_document(case.faults_of)),
        controllers=tuple(
            RecordedController(each.name, tuple(resource.name for resource in each.reads), _version(each))
            for each in deciders
        ),
        objects=tuple(_object(change.entry) for change in runner.backup().changes),
        choices=tuple(each for each in run.chance.choices if each[4]),
        steps=tuple(map(_recorded, run.trail or ())),
    )


def play_again(artifact: Artifact, plant: str | None = None) -> Replayed:
    """`plant`: instead of the artifact's; "" plays it on the code as it is."""
    scenario, faults = scenario_of(artifact.scenario), faults_of(artifact.faults)
    runner = Runner(
        scenario, faults, artifact.head.plant if plant is None else plant, backup=_backup(artifact)
    )
    run = runner.play(Chance.replay(artifact.choices), trail=True)
    steps = map(str, trail_of(artifact))
    parted = first_divergence(steps, map(str, run.trail or ()))
    return Replayed(run, parted, artifact.head.digest)


def trail_of(artifact: Artifact) -> Trail:
    return Trail(TrailStep(number, *step) for number, step in enumerate(artifact.steps))


def _version(decider: Decider) -> str:
    """Records of a simulated plane have none: they are a part of the digest, and a kept run is to be the same when
    nothing but the number of the release has changed."""
    module = getattr(getattr(decider.decide, "func", decider.decide), "__module__", "")
    return fairlead.__version__ if module.startswith("fairlead.") else ""


def _plain(document: Json) -> Json:
    """As it will be read: lists, not tuples."""
    plain: Json = codec.decode(codec.encode(document))
    return plain


def _recorded(step: TrailStep) -> RecordedStep:
    return step.ms, step.actor, step.kind, step.text, step.data, step.cause


def _backup(artifact: Artifact) -> Backup:
    entries = [Entry(Key(*each.key), each.uid, each.revision, bytes(each.value)) for each in artifact.objects]
    return Backup(tuple(CommittedChange(ADDED, entry, None) for entry in entries), artifact.head.requests)


def _object(entry: Entry) -> RecordedObject:
    key = entry.key.resource, entry.key.namespace, entry.key.name
    return RecordedObject(key, entry.uid, entry.revision, msgspec.Raw(entry.data))
