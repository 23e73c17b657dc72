"""A runbook, run in virtual time on a world made of a live plane's state: step by step, and what comes of it.

    rehearse(state, Rehearsal("drain-zone", "kube-system", {"zone": "a"}), 3600.0) -> Rehearsed

The run is an object like any other, made by a person and advanced by the controller of production, in the same world
that `preview.py` looks ahead with. People are played: a question is answered as the rehearsal says, else as a willing
person would; an override that needs a second person's approval gets it. What nature or somebody else has to do for a
step to be done (`meanwhile`) happens when the run is at that step. Pure; nothing of the live plane is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from fairlead.api.access.users import MASTERS, User
from fairlead.api.admission.plane_conditions import PLANE
from fairlead.core import codec
from fairlead.core.times import parse_time, timestamp
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.kinds.runbook import ASKING, ENDED, RUN, RUNBOOK, SUCCEEDED
from fairlead.model.kinds.scheduleroverride import APPROVED
from fairlead.model.pod_decoder import decode_pod
from fairlead.model.runbooks.measures import summary_of
from fairlead.model.runbooks.values import type_of
from fairlead.model.views import OVERRIDES, PODS
from fairlead.model.views.runbooks import RUNBOOK_RUNS, RunbookRun, StepRecord
from fairlead.port.request import MERGE_PATCH, Reply, Request
from fairlead.reconcile.runbooks.scene import READINGS_FRESH_SECONDS
from fairlead.sim.preview.change import SECOND, ProposedChange, carry_out, key_of
from fairlead.sim.preview.difference import Act
from fairlead.sim.preview.nodes import behaviour_of
from fairlead.sim.preview.reading import ObjectsOfMoment, acts_of, singular
from fairlead.sim.preview.state import LiveState, backup_of_state
from fairlead.sim.preview.world import PERSON, PreviewWorld
from fairlead.store.contract import ADDED

Json = dict[str, Any]
#: bound: plane | how far a rehearsal of a runbook goes, unless it is told another end | told as not ended
UNTIL_SECONDS = 6 * 3600.0
_REST_SECONDS = 60.0
_STEP_MS = 500
_MADE_BY_RUN = "fairlead.dev/runbook-run"
_run = msgspec.json.Decoder(RunbookRun).decode
_SERVER = User(PLANE, groups=(MASTERS,))  # who measures for runs
_GOOD = {"boolean": "true", "integer": "1", "duration": "30m"}


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """`answers`: by step, then by field. `meanwhile`: by step, what somebody does while the run is there."""

    runbook: str
    namespace: str
    params: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    meanwhile: Mapping[str, ProposedChange] = field(default_factory=dict)
    name: str = "rehearsal"
    readings: Json | None = None  # what was measured on the live plane, by variable; it stays so


@dataclass(frozen=True, slots=True)
class StepTold:
    """`seconds`: after the run was made; `lasted`: None while it is not done."""

    name: str
    state: str
    seconds: float
    lasted: float | None
    message: str
    made: str


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """`played`: what people were taken to do. `left`: what the run made and is there at its end."""

    phase: str  # "": it was not taken by the API
    reason: str
    message: str
    seconds: float
    steps: tuple[StepTold, ...] = ()
    played: tuple[str, ...] = ()
    acts: tuple[Act, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.phase == SUCCEEDED

    def as_json(self) -> Json:
        return {**asdict(self), "succeeded": self.succeeded}


def rehearse(state: LiveState, wanted: Rehearsal, until_seconds: float = UNTIL_SECONDS) -> Rehearsed:
    """`until_seconds`: how long the run may take."""
    backup = backup_of_state(state)
    entries = {each.entry.key: each.entry for each in backup.changes}
    book = entries.get(Key(RUNBOOK.resource, "", wanted.runbook))
    procedure = codec.decode(book.data)["spec"] if book is not None else {}
    pods = [decode_pod(entry.data) for key, entry in entries.items() if key.resource == PODS.name]
    brings = {RUNBOOK_RUNS.name, *_named(procedure)}
    brings |= {key_of(each).resource for change in wanted.meanwhile.values() for each in change.asks}
    world = PreviewWorld(backup, int(state.now), behaviour_of(pods), sorted(brings))
    world.settle(_REST_SECONDS)
    stage = _Stage(world, wanted, procedure)
    stage.go(until_seconds)
    after = ObjectsOfMoment(entries, world.decode_pod).moved_on(world.commits)
    return stage.told(after)


def _named(procedure: Json) -> set[str]:
    """The resources that a procedure reads, makes and changes; all of them have to be there for it."""
    given = list(procedure.get("read") or ())
    for each in procedure.get("steps") or ():
        given += [(each.get("create") or {}).get("object") or {}, each.get("verb") or {}]
    found = set()
    for each in given:
        group, _, version = str(each.get("apiVersion") or "").rpartition("/")
        kind = CATALOG.find_kind(group, version, str(each.get("kind") or ""))
        if kind is not None:
            found.add(kind.resource)
    return found


class _Stage:
    def __init__(self, world: PreviewWorld, wanted: Rehearsal, procedure: Json) -> None:
        self._world, self._wanted = world, wanted
        self._steps = {each["name"]: each for each in procedure.get("steps") or ()}
        self._key = Key(RUNBOOK_RUNS.name, wanted.namespace, wanted.name)
        self._before = len(world.commits)
        self._since = world.seconds
        self._refused = ""
        self._played: list[str] = []
        # Steps, and overrides, that somebody has acted for. What others have asked for waits for its own second person.
        self._helped = {each.uid for each in world.server.stored() if each.key.resource == OVERRIDES.name}

    def go(self, until_seconds: float) -> None:
        body = {
            "apiVersion": RUN.api_version,
            "kind": RUN.kind,
            "metadata": {"name": self._wanted.name, "namespace": self._wanted.namespace},
            "spec": {"runbook": self._wanted.runbook, "params": dict(self._wanted.params)},
        }
        where = (RUN.group, RUN.version, RUN.plural, self._wanted.namespace)
        self._world.ask(Request("create", *where, body=codec.encode(body)), partial(self._heard, ""))
        timeline = self._world.timeline
        while not self._refused and self._world.seconds < self._since + until_seconds:
            timeline.run_until(timeline.ms + _STEP_MS)
            run = self._now()
            if run is not None and run.status.phase in ENDED:
                return
            if run is not None:
                self._measure(run)
                self._approve()
                self._help(run)

    def _now(self) -> RunbookRun | None:
        entry = self._world.server.store.get(self._key)
        return _run(entry.data) if entry is not None else None

    def _heard(self, told: str, reply: Reply | None) -> None:
        assert reply is not None  # this server does not die
        if reply.status >= 400:
            message = str(codec.decode(reply.body).get("message", ""))
            self._refused = f"{told}: {message}" if told else message

    def _measure(self, run: RunbookRun) -> None:
        """What the server does for a run: the numbers are those of the live plane, or else of a quiet one."""
        spec, known = run.spec.procedure, run.status.readings
        named = [each["name"] for part in ("metrics", "decisions") for each in spec.get(part) or ()]
        if not named or (known and self._world.timeline.now - known.taken < READINGS_FRESH_SECONDS / 3):
            return
        quiet: Json = {each["name"]: 0.0 for each in spec.get("metrics") or ()}
        nothing = summary_of((), "", "", 0.0)
        quiet |= {each["name"]: nothing for each in spec.get("decisions") or ()}
        if known is None:
            sort = "as now, all the time" if self._wanted.readings is not None else "assumed: a quiet plane"
            self._played.append(f"measured: {', '.join(named)} ({sort})")
        values = {**quiet, **(self._wanted.readings or {})}
        body = {"status": {"readings": {"at": timestamp(self._world.timeline.now), "values": values}}}
        self._patch(RUN.plural, self._key, body, "status", "what is measured")

    # What people do

    def _help(self, run: RunbookRun) -> None:
        step = run.status.step
        if not step or step in self._helped:
            return
        if step in self._wanted.meanwhile:
            self._helped.add(step)
            change = self._wanted.meanwhile[step]
            self._played.append(f"{step}: {change.told or 'the change given for it'}")
            carry_out(self._world, replace(change, told=""), [])
        if run.status.phase == ASKING:
            self._helped.add(step)
            self._answer(run, step)

    def _answer(self, run: RunbookRun, step: str) -> None:
        given = self._wanted.answers.get(step) or {}
        fields = (self._steps.get(step, {}).get("ask") or {}).get("fields") or ()
        values = {each["name"]: given.get(each["name"]) or _willing(each) for each in fields}
        assumed = [name for name in values if name not in given]
        told = ", ".join(f"{name}={value}" for name, value in values.items())
        self._played.append(f"{step}: {told}" + (f" (assumed: {', '.join(assumed)})" if assumed else ""))
        answers = [{"step": each.step, "values": each.values} for each in run.spec.answers]
        body = {"spec": {"answers": [*answers, {"step": step, "values": values}]}}
        self._patch(RUN.plural, self._key, body, "", f"the answer to {step}")

    def _approve(self) -> None:
        for entry in self._world.server.stored():
            if entry.key.resource != OVERRIDES.name or entry.uid in self._helped:
                continue
            found = codec.decode(entry.data)
            if found["spec"].get("approval"):
                self._helped.add(entry.uid)
                self._played.append(f"a second person approves scheduleroverride/{entry.key.name}")
                approved = {"type": APPROVED, "status": "True", "reason": APPROVED, "message": "approved"}
                body = {"status": {"conditions": [approved]}}
                self._patch("scheduleroverrides", entry.key, body, "approval", "the approval")

    def _patch(self, plural: str, key: Key, body: Json, subresource: str, told: str) -> None:
        request = Request(
            "patch",
            RUN.group,
            RUN.version,
            plural,
            key.namespace,
            key.name,
            subresource=subresource,
            body=codec.encode(body),
            content_type=MERGE_PATCH,
        )
        user = {"approval": SECOND, "status": _SERVER}.get(subresource)
        self._world.ask(request, partial(self._heard, told), PERSON, user)

    # What came of it

    def told(self, after: ObjectsOfMoment) -> Rehearsed:
        run = self._now()
        lasted = round(self._world.seconds - self._since, 3)
        if run is None:
            return Rehearsed("", "Refused", self._refused or "the run was not made", lasted)
        status, made_at = run.status, parse_time(run.metadata.creation_timestamp)
        message = f"{self._refused}; {status.message}" if self._refused else status.message
        commits = self._world.commits[self._before :]
        acts = [
            each
            for each in acts_of(commits, after, self._since).values()
            if each.by != PERSON and each.kind != RUN.plural
        ]
        return Rehearsed(
            status.phase,
            status.reason,
            message,
            lasted,
            steps=tuple(_step(each, made_at) for each in status.steps),
            played=tuple(self._played),
            acts=tuple(sorted(acts, key=lambda each: each.seconds)),
            left=tuple(self._left()),
        )

    def _left(self) -> list[str]:
        """What carries the mark of the run and is there."""
        mark = b'"%b":"%b"' % (_MADE_BY_RUN.encode(), self._wanted.name.encode())
        made = {
            each.change.entry.key
            for each in self._world.commits[self._before :]
            if each.change.type == ADDED and mark in each.change.entry.data
        }
        there = (key for key in made if self._world.server.store.get(key) is not None)
        return sorted(f"{singular(key.resource)}/{key.name}" for key in there)


def _step(record: StepRecord, made_at: float) -> StepTold:
    began = parse_time(record.started_at)
    ended = parse_time(record.finished_at) if record.finished_at else None
    made = f"{record.made.kind.lower()}/{record.made.name}" if record.made is not None else ""
    lasted = ended - began if ended is not None else None
    return StepTold(record.name, record.state, began - made_at, lasted, record.message, made)


def _willing(field: Json) -> str:
    """What somebody answers who wants the run to go on."""
    if field.get("default") is not None:
        return str(field["default"])
    allowed = [str(each) for each in field.get("values") or ()]
    if allowed:
        return "yes" if "yes" in allowed else allowed[0]
    return _GOOD.get(type_of(field), "rehearsed")
