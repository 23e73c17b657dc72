"""The CronJob controller: starts a Job whenever its schedule is due.

One turn does the first of these that is needed:

    write the status that was observed   (active Jobs, last schedule time, last success)
    delete finished Jobs beyond the history limits
    delete running Jobs that are to be replaced
    create the Job of the latest due instant, if it is not too late for it and none runs that forbids it

The Job of an instant is called after it (`name-<minutes since the epoch>`) and carries it as an annotation, from which
the last schedule time follows: a crash between creating a Job and writing the status starts nothing twice. A Job of
that name that somebody else made is in the way until it is gone, or the next instant is due. If several instants were
missed, only the latest is made up for, and an Event tells of the others; over a hundred hint at a broken clock.

Instants are of the wall clock, which unlike the plane's time may be set: what it passes by when it is set ahead counts
as missed; what it shows a second time after it was set back has had its turn, which an Event tells as well.
Zones: see `model/time_zones.py`; in one that is not known there, nothing is started.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import (
    EFFECTS_MAX,
    NOTHING,
    SETTLED,
    Decision,
    EventNote,
    Reading,
    Refusal,
    Stuck,
    Waiting,
)
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect, premise_of
from fairlead.decision.ensure import ensure_child, ensure_gone, ensure_status
from fairlead.decision.notes import NORMAL, WARNING, note_children, note_failure, regarding_of
from fairlead.decision.predicates import GONE
from fairlead.decision.wakes import by_controller, itself
from fairlead.model.cron import problem_with
from fairlead.model.cron_times import (
    MISSED_MAX,
    Schedule,
    count_missed,
    latest_due,
    next_after,
    parse,
    zone_of,
)
from fairlead.model.key import Key
from fairlead.model.time_zones import is_time_zone
from fairlead.model.views import CRONJOBS, JOBS, CronJob, CronJobStatus, Job, Json
from fairlead.reconcile.children import controller_reference, is_controlled_by
from fairlead.reconcile.job.status import finished_condition

_NAME = "cronjob"
# A step of the wall clock that is smaller is not noticed (`runtime/clock.py`).
_CLOCK_BEHIND_SECONDS = 2.0
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def cronjob_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(CRONJOBS, JOBS),
        wakes=(
            Wake(CRONJOBS, itself),
            Wake(JOBS, by_controller(CRONJOBS)),
            Wake(JOBS, _whose_name_is_free, when=GONE, among=CRONJOBS),
        ),
        decide=_decide,
        refused=_refused,
    )


def _whose_name_is_free(event: WatchEvent[Job]) -> Iterable[Key]:
    """The CronJob that a Job which somebody else made was named like one of: its instant may still be due."""
    job = event.before
    if event.after is not None or job is None:
        return ()
    name, _, minutes = event.key.name.rpartition("-")
    if not name or not minutes.isdigit():
        return ()
    owner = job.metadata.controller
    if owner is not None and (owner.kind, owner.name) == (CRONJOBS.kind, name):
        return ()  # its own, of which it hears as the controller
    space = event.key.namespace
    return (Key(CRONJOBS.name, space, name),) if event.view.get(CRONJOBS, space, name) is not None else ()


def _decide(view: Reading, key: Key, now: float) -> Decision:
    cron = view.get(CRONJOBS, key.namespace, key.name)
    if cron is None or cron.metadata.deletion_timestamp:
        return NOTHING
    owned = view.owned(JOBS, cron.metadata.uid, key.namespace)
    jobs = [job for job in owned if is_controlled_by(job, cron.metadata)]
    status = ensure_status(_NAME, CRONJOBS, cron, _status(cron, jobs))
    if status is not None:
        return Decision(Waiting("StatusBehind"), (status,), events=_ended(cron, jobs))
    forgotten = _forgotten(cron, jobs)[:EFFECTS_MAX]
    if forgotten:
        return Decision(Waiting("CleaningUp"), forgotten, events=_notes(cron, forgotten))
    if cron.spec.suspend:
        return Decision(SETTLED)
    problem = problem_with(cron.spec.schedule)
    if problem:
        return _stuck(cron, "UnparseableSchedule", problem)
    zone = zone_of(cron.spec.schedule, cron.spec.time_zone)
    if zone and not is_time_zone(zone):
        return _stuck(cron, "UnknownTimeZone", f"the rules of time zone {zone} are not known here")
    return _start(view, cron, parse(cron.spec.schedule, zone), jobs, now)


def _refused(view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
    cron = view.get(CRONJOBS, key.namespace, key.name)
    if cron is None:
        return NOTHING
    notes = note_failure(regarding_of(CRONJOBS, cron.metadata), refusal.effect, refusal.message, _failed)
    return Decision(events=notes)


def _failed(did: str, name: str, why: str) -> str:
    return f"Error {did[:-1]}ing job: {why}"


def _stuck(cron: CronJob, reason: str, message: str) -> Decision:
    note = _note(cron, WARNING, reason, message, occasion=str(cron.metadata.generation))
    return Decision(Stuck(reason, message), events=(note,))


def _note(
    cron: CronJob, kind: str, reason: str, message: str, after: int = -1, occasion: str = ""
) -> EventNote:
    return EventNote(
        regarding=regarding_of(CRONJOBS, cron.metadata),
        type=kind,
        reason=reason,
        message=message,
        after=after,
        occasion=occasion,
    )


def _notes(cron: CronJob, effects: Sequence[Effect]) -> tuple[EventNote, ...]:
    return note_children(
        regarding_of(CRONJOBS, cron.metadata),
        effects,
        lambda did, name: f"{did.capitalize()}d job {name}",
        JOBS,
    )


def _ended(cron: CronJob, jobs: Sequence[Job]) -> tuple[EventNote, ...]:
    """Jobs that the status calls active, and the next one does not."""
    found = {job.metadata.uid: job for job in jobs}
    notes = []
    for each in cron.status.active:
        job = found.get(each.get("uid", ""))
        end = finished_condition(job) if job is not None else None
        if job is None:
            told = f"Active job went missing: {each.get('name')}"
            notes.append(_note(cron, NORMAL, "MissingJob", told, 0))
        elif end is not None:
            told = f"Saw completed job: {job.metadata.name}, condition: {end.type}"
            notes.append(_note(cron, NORMAL, "SawCompletedJob", told, 0))
    return tuple(notes)


def _status(cron: CronJob, jobs: Sequence[Job]) -> CronJobStatus:
    """Both times only move forward: Jobs that are gone are not forgotten."""
    status = cron.status
    scheduled = [job.metadata.annotations.get(SCHEDULED_AT, "") for job in jobs]
    succeeded = [job.status.completion_time for job in jobs]
    return CronJobStatus(
        active=tuple(_reference(job) for job in jobs if finished_condition(job) is None),
        last_schedule_time=_latest([status.last_schedule_time, *scheduled]),
        last_successful_time=_latest([status.last_successful_time, *succeeded]),
    )


def _latest(times: Iterable[str]) -> str:
    return max((text for text in times if text), key=parse_time, default="")


def _reference(job: Job) -> Json:
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": job.metadata.name,
        "namespace": job.metadata.namespace,
        "uid": job.metadata.uid,
    }


def _forgotten(cron: CronJob, jobs: Sequence[Job]) -> tuple[Effect, ...]:
    """Finished Jobs beyond what is to be remembered, oldest first."""
    effects: list[Effect | None] = []
    limits = {
        "Complete": cron.spec.successful_jobs_history_limit,
        "Failed": cron.spec.failed_jobs_history_limit,
    }
    for kind, limit in limits.items():
        ended = [job for job in jobs if (end := finished_condition(job)) is not None and end.type == kind]
        ended.sort(key=lambda job: (job.status.start_time, job.metadata.name))
        surplus = ended[: max(0, len(ended) - limit)]
        effects += [ensure_gone(_NAME, cron.metadata, JOBS, job) for job in surplus]
    return tuple(effect for effect in effects if effect is not None)


def _start(view: Reading, cron: CronJob, schedule: Schedule, jobs: Sequence[Job], now: float) -> Decision:
    """Start the Job of the latest due instant, or say until when there is nothing to start."""
    spec, shown = cron.spec, view.wall(now)
    since = _considered(view, cron, now)
    due = latest_due(schedule, since, shown)
    following = next_after(schedule, since if due is None else due)
    again_at = now + (following - shown) if following is not None else 0.0
    if due is None:
        return _not_due(cron, shown, again_at)
    passed = count_missed(schedule, since, shown)
    if spec.starting_deadline_seconds is not None:
        since = max(since, shown - spec.starting_deadline_seconds)
        if due <= since:
            more = f" (and {passed - 1} before it)" if 1 < passed <= MISSED_MAX else ""
            told = f"Missed scheduled time to start a job: {timestamp(due)}{more}"
            note = _note(cron, WARNING, "MissSchedule", told, occasion=str(due))
            return Decision(Waiting("NotDue"), again_at=again_at, events=(note,))
    premises = (premise_of(CRONJOBS, cron.metadata),)
    active = [job for job in jobs if finished_condition(job) is None and not job.metadata.deletion_timestamp]
    if active and spec.concurrency_policy == "Forbid":
        told = "Not starting job because prior execution is running and concurrency policy is Forbid"
        note = _note(cron, NORMAL, "JobAlreadyActive", told, occasion=str(due))
        return Decision(
            Waiting("JobAlreadyActive", active[0].metadata.name), again_at=again_at, events=(note,)
        )
    if active and spec.concurrency_policy == "Replace":
        gone = [
            ensure_gone(_NAME, cron.metadata, JOBS, job, premises=premises) for job in active[:EFFECTS_MAX]
        ]
        replaced = tuple(each for each in gone if each is not None)
        return Decision(Waiting("Replacing"), replaced, again_at, _notes(cron, replaced))
    name = f"{cron.metadata.name}-{due // 60}"
    found = view.get(JOBS, cron.metadata.namespace, name)
    create = ensure_child(_NAME, cron.metadata, JOBS, found, _job(cron, name, due), str(due), premises)
    if create is None:
        return Decision(Waiting("NameTaken", name), again_at=again_at)
    verdict, notes = Waiting("Starting", name), _notes(cron, (create,))
    if count_missed(schedule, since, shown) > MISSED_MAX:
        message = "too many missed start times: set or decrease startingDeadlineSeconds or check the clocks"
        verdict = Waiting("TooManyMissedTimes", message)
        notes = (_note(cron, WARNING, verdict.reason, message, 0), *notes)
    elif passed > 1:
        told = f"Missed {passed - 1} scheduled times to start a job: only that of {timestamp(due)} is made up for"
        notes = (_note(cron, WARNING, "MissSchedule", told, 0), *notes)
    return Decision(verdict, (create,), again_at, notes)


def _considered(view: Reading, cron: CronJob, now: float) -> float:
    """Up to when instants of the wall clock have had their turn, or were over when the CronJob was made."""
    if cron.status.last_schedule_time:
        return parse_time(cron.status.last_schedule_time)
    made = parse_time(cron.metadata.creation_timestamp)
    # Nothing has run: what the wall clock shows again since it was set back is due like anything after the creation.
    return min(view.wall(made), made + view.wall(now) - now)


def _not_due(cron: CronJob, shown: float, again_at: float) -> Decision:
    last = cron.status.last_schedule_time
    if not last or parse_time(last) - shown <= _CLOCK_BEHIND_SECONDS:
        return Decision(Waiting("NotDue"), again_at=again_at)
    told = f"the wall clock was set back: what it shows again until {last} has had its turn, and is not run twice"
    note = _note(cron, WARNING, "ClockSetBack", told, occasion=last)
    return Decision(Waiting("ClockSetBack", told), again_at=again_at, events=(note,))


def _job(cron: CronJob, name: str, due: int) -> Json:
    template = cron.spec.job_template
    metadata: Json = template.get("metadata") or {}
    return {
        "metadata": {
            "name": name,
            "labels": metadata.get("labels") or {},
            "annotations": {**(metadata.get("annotations") or {}), SCHEDULED_AT: timestamp(due)},
            "ownerReferences": [controller_reference(CRONJOBS, cron.metadata)],
        },
        "spec": template.get("spec") or {},
    }
