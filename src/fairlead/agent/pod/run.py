"""How a pod comes to run: its sandbox is opened, its containers started and started again, probed and refreshed.

Called by `agent/machine.py` for a pod that nothing ends. What keeps a container from starting is written beside it (the
container's `trouble`, the pod's `waiting`) and shown in its status; most of it is looked at again when something that
was missing arrives.
"""

from __future__ import annotations

from fairlead.agent.contract import Ask, LiftDeadline, Open, Refresh, Start, Stop
from fairlead.agent.contract import Probe as Look
from fairlead.agent.notes import WARNING
from fairlead.agent.pod.at_most_one import told_seconds
from fairlead.agent.pod.container import Runs
from fairlead.agent.pod.downward import Surroundings
from fairlead.agent.pod.ending import deadline_at, stop_run
from fairlead.agent.pod.launch import check_supported, launch
from fairlead.agent.pod.life import Life
from fairlead.agent.pod.plan import ContainerPlan, plan
from fairlead.agent.pod.shared_by_pods import Means
from fairlead.agent.pod.volumes import Unsupported, volumes
from fairlead.agent.pod.worker import PodWorker
from fairlead.agent.references import Missing, Pending
from fairlead.agent.services import service_environment
from fairlead.agent.views import BoundContainer, BoundPod
from fairlead.core.times import SECOND, format_duration
from fairlead.model.at_most_one import is_at_most_one
from fairlead.model.reasons import CONFIG_ERROR, CRASH_LOOP, CREATE_ERROR

RunInstruction = Ask | LiftDeadline | Open | Start | Stop | Refresh | Look
CREATING = "ContainerCreating"


def run(work: PodWorker, view: BoundPod, means: Means, now: float) -> list[RunInstruction]:
    work.wake(deadline_at(view))
    for each in view.all_containers:
        work.runs[each.name].watch_over(each, view)
    made = plan(view, work.runs, now, means.pace)
    if made.done:
        return _wind_down(work, view, means, now)
    _show_resting(work, view, made, means, now)
    work.wake(made.again_at)
    if work.life is Life.OPENING:
        again_at = work.open_asked_at + means.pace.ask_again_seconds
        if now < again_at:
            work.wake(again_at)
            return []
        work.life = Life.WAITING
    out: list[RunInstruction] = []
    if work.life is Life.UP:
        out += _lift(work, view, means, now)
        out += _refresh(work, view, means)
        out += _kills(work, view, means, now)
        out += _looks(work, view, means, now)
    startable = [each for each in made.start if _supported(work, view, each, means, now)]
    if not startable or not means.may_start:
        return out
    if work.retry.waits(now):
        work.wake(work.retry.at)
        return out
    may_start, asks = work.word.may_start(view, means, now)
    if not may_start:
        if work.word.retry.waits(now):
            work.wake(work.word.retry.at)
        return [*out, *asks]
    if work.life is Life.UP:
        return out + _starts(work, view, startable, means, now)
    if work.sandbox is not None and work.sandbox.fenced:
        work.reopens = True
        return out
    return out + _open(work, view, means, now)


def _wind_down(work: PodWorker, view: BoundPod, means: Means, now: float) -> list[RunInstruction]:
    """Only sidecars may still be running: they go too, the last one first."""
    for each in reversed(view.spec.init_containers):
        own = work.runs[each.name]
        if own.may_run:
            grace = float(view.spec.termination_grace_period_seconds)
            stop = stop_run(work.uid, each, own, grace, means, now)
            work.wake(own.stop_by + means.pace.ask_again_seconds)
            return [stop] if stop is not None else []
    work.life = Life.OVER
    return []


def _show_resting(work: PodWorker, view: BoundPod, made: ContainerPlan, means: Means, now: float) -> None:
    meta = view.metadata
    for each in made.resting:
        own = work.runs[each.name]
        rest = format_duration(round(own.delay) * SECOND)
        place = f"{meta.name}_{meta.namespace}({meta.uid})"
        words = f"back-off {rest} restarting failed container={each.name} pod={place}"
        if own.trouble != (CRASH_LOOP, words):
            own.trouble = (CRASH_LOOP, words)
            words = f"Back-off restarting failed container {each.name} in pod {place}"
            work.note(means, each.name, WARNING, "BackOff", words, now)


def _supported(work: PodWorker, view: BoundPod, container: BoundContainer, means: Means, now: float) -> bool:
    try:
        check_supported(view, container, means.settings.isolation)
    except Unsupported as error:
        _trouble(work, work.runs[container.name], CREATE_ERROR, str(error), means, now)
        return False
    return True


def _trouble(work: PodWorker, own: Runs, reason: str, message: str, means: Means, now: float) -> None:
    message = message[: means.pace.message_max]
    if own.trouble != (reason, message):
        own.trouble = (reason, message)
        work.note(means, own.name, WARNING, "Failed", f"Error: {message}", now)


# The sandbox


def _open(work: PodWorker, view: BoundPod, means: Means, now: float) -> list[RunInstruction]:
    address = _address(work, view, means)
    if not address:
        known = means.addresses.known
        words = (
            "no address of the node's spec.podCIDR is free" if known else "the node has no spec.podCIDR yet"
        )
        work.waiting = (CREATING, words)
        return []
    around = _surroundings(address, means)
    try:
        made = volumes(view, around, means.library, means.tokens)
    except Pending as error:
        work.waiting = (CREATING, str(error))
        return []
    except Missing as error:
        if work.waiting != (CREATING, str(error)):
            work.waiting = (CREATING, str(error))
            work.note(means, "", WARNING, "FailedMount", str(error), now)
        return []
    except Unsupported as error:
        if work.waiting != (CONFIG_ERROR, str(error)):
            work.waiting = (CONFIG_ERROR, str(error))
            work.note(means, "", WARNING, "FailedMount", str(error), now)
        return []
    work.waiting = ("", "")
    work.life, work.opened, work.open_asked_at = Life.OPENING, True, now
    work.volumes, work.volumes_of = made, (view.metadata.resource_version, means.content_version)
    work.wake(now + means.pace.ask_again_seconds)
    meta = view.metadata
    fs_group = view.spec.security_context.fs_group
    deadline = means.deadline if is_at_most_one(meta) else None
    ran_before = any(each.attempt >= 0 for each in work.runs.values())
    return [
        Open(
            uid=work.uid,
            namespace=meta.namespace,
            name=meta.name,
            address=address,
            volumes=made,
            deadline=deadline,
            fs_group=fs_group,
            ran_before=ran_before,
        )
    ]


def _lift(work: PodWorker, view: BoundPod, means: Means, now: float) -> list[RunInstruction]:
    """An older agent gave every pod a deadline. One that the API was told of stays: the plane counts on it."""
    bounded = work.sandbox is not None and work.sandbox.deadline is not None
    if not bounded or is_at_most_one(view.metadata) or told_seconds(view) is not None:
        return []
    again_at = work.lift_asked_at + means.pace.ask_again_seconds
    if work.lift_asked_at and now < again_at:
        work.wake(again_at)
        return []
    work.lift_asked_at = now
    return [LiftDeadline(work.uid)]


def _address(work: PodWorker, view: BoundPod, means: Means) -> str:
    if work.sandbox is not None and work.sandbox.address:
        return work.sandbox.address
    if view.spec.host_network:
        return means.host_address
    return means.addresses.take(work.uid, str(view.status.get("podIP") or ""))


def _around(work: PodWorker, means: Means) -> Surroundings:
    return _surroundings(work.sandbox.address if work.sandbox is not None else "", means)


def _surroundings(address: str, means: Means) -> Surroundings:
    settings = means.settings
    return Surroundings(address, means.host_address, settings.allocatable, settings.user, settings.isolation)


def _refresh(work: PodWorker, view: BoundPod, means: Means) -> list[RunInstruction]:
    """Files whose content changed. What is missing now stays as it was."""
    versions = (view.metadata.resource_version, means.content_version)
    if not view.spec.volumes or work.volumes_of == versions or not means.tokens.are_there(work.uid):
        return []
    try:
        made = volumes(view, _around(work, means), means.library, means.tokens)
    except (Missing, Pending, Unsupported):
        return []
    work.volumes_of = versions
    changed = tuple(each for each in made if each.files is not None and each not in work.volumes)
    work.volumes = made
    return [Refresh(work.uid, changed)] if changed else []


# The containers


def _starts(
    work: PodWorker, view: BoundPod, startable: list[BoundContainer], means: Means, now: float
) -> list[RunInstruction]:
    """The next start. One at a time: a Failed does not name its container, and must not be taken for another's."""
    if any(each.expected for each in work.runs.values()):
        return []
    links = view.spec.enable_service_links
    if links and not means.services_known:
        work.waiting = (CREATING, "services have not yet been read at least once")
        return []
    work.waiting = ("", "")
    services = service_environment(means.services, view.metadata.namespace) if links else []
    for container in startable:
        own = work.runs[container.name]
        try:
            made = launch(view, container, own.next_attempt, _around(work, means), means.library, services)
        except Pending as error:
            work.waiting = (CREATING, str(error))
        except Missing as error:
            _trouble(work, own, CONFIG_ERROR, str(error), means, now)
        else:
            own.asks(means.pace)
            return [Start(work.uid, made)]
    return []


def _kills(work: PodWorker, view: BoundPod, means: Means, now: float) -> list[RunInstruction]:
    """Runs that a probe gave up."""
    out: list[RunInstruction] = []
    for container in view.all_containers:
        own = work.runs[container.name]
        if own.kill_grace is not None and own.running:
            stop = stop_run(work.uid, container, own, own.kill_grace, means, now)
            work.wake(own.stop_by + means.pace.ask_again_seconds)
            if stop is not None:
                out.append(stop)
    return out


def _looks(work: PodWorker, view: BoundPod, means: Means, now: float) -> list[RunInstruction]:
    out: list[RunInstruction] = []
    address = work.sandbox.address if work.sandbox is not None else ""
    for container in view.all_containers:
        own = work.runs[container.name]
        probes = own.probes
        if probes is not None and own.kill_grace is None:
            out += probes.step(work.uid, address, now, means.calls)
            work.wake(probes.next_at)
    return out
