"""After the end of an override every decision is that of a plane with the same objects that never had it.

Judged in two ways. Once an override of the run has ended or is gone, each decision of a controller is made a second
time, by one that has just been made and is shown the same objects at the same instant, but no override that has ended:
verdict, effects and all else must be the same. And when an override is told as ended, and at rest, where there is
little to do, each leading plane is asked about all of its keys what it would decide as it is, and what if each workload
wanted one more pod, had another template, ... (`sim/supposed_views.py`); and its scheduler, unless that has something
under way, where each pod that is there would go if it came now, beside a scheduler that comes to lead now. So what a
controller remembers of an override is found, although no object shows it.

Only asked: nothing of it is carried out, noted in views or drawn. Left out are controllers for which an override that
has ended is an object like any other: the one that tells of overrides, and those that collect, clear and count objects
of every kind; where there are custom kinds, also those that depend on these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from msgspec import structs

from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView
from fairlead.control.health import Health
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.resyncing import keys_of_all
from fairlead.control.roster import forget_made
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.ledger import override as ledger
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, PODS, Pod
from fairlead.reconcile.garbage import NAME as GARBAGE
from fairlead.reconcile.namespace import NAME as NAMESPACE
from fairlead.reconcile.overrides.decider import NAME as OF_OVERRIDES
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.sim.checkers.contract import CommittedObjects, Observed, SeenChange
from fairlead.sim.generate.building import made_once
from fairlead.sim.parts import Parts, usual_deciders
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.scenario import Scenario
from fairlead.sim.supposed_views import SUPPOSED, Suppose, Supposing, WithoutEnded, has_ended
from fairlead.sim.violation import Violation

_LAID_DOWN_BY = frozenset({"scheduleroverrides", "runbookruns"})
_OF_EVERY_KIND = frozenset({OF_OVERRIDES, GARBAGE, NAMESPACE, "resource-quota"})
_SUPPOSED = " (supposed)"  # no object can be called so


class Leading(NamedTuple):
    """A plane that may act, and the time it has."""

    name: str
    plane: Plane
    now: float


def has_overrides(scenario: Scenario) -> bool:
    return any(step.request.plural in _LAID_DOWN_BY for step in (*scenario.standing, *scenario.steps))


def watch_ends(
    parts: Parts, scenario: Scenario, observed: Observed, planes: Callable[[], Iterable[PlaneProcess]]
) -> Parts:
    """These parts; where people lay down overrides, with controllers that are judged as they decide."""
    if not has_overrides(scenario):
        return parts
    deciders, nodes, prefix = parts["deciders"], parts["nodes"], scenario.hollow_prefix

    def leading() -> Iterator[Leading]:
        for each in planes():
            if each.up and each.plane.acts and each.plane.leadership.may_act(each.now):
                yield Leading(each.called, each.plane, each.now)

    checker = EndedAreForgotten(lambda: (*deciders(), nodes(prefix)), leading)
    observed.add(checker)
    return checker.parts(parts)


class EndedAreForgotten:
    """`deciders`: how the controllers of a plane are made. Planes may share some: those that are asked here are
    nobody's."""

    name = "ended-overrides-are-forgotten"
    outlives_loss = True

    def __init__(
        self, deciders: Callable[[], Sequence[Decider]], leading: Callable[[], Iterable[Leading]]
    ) -> None:
        self._deciders, self._leading = deciders, leading
        self._ends: dict[Key, float] = {}
        self._one_is_gone = self._has_custom_kinds = False
        self._made: dict[str, Decider] = {}
        self._shown: set[Key] = set()  # what those may have seen
        self._told = ""
        self.compared = 0

    def parts(self, parts: Parts) -> Parts:
        """These, with each controller of a plane looked at as it decides."""
        deciders, nodes = parts["deciders"], parts["nodes"]
        return {
            **parts,
            "deciders": lambda: tuple(map(self._watched, deciders())),
            "nodes": lambda prefix: self._watched(nodes(prefix)),
        }

    def _watched(self, inner: Decider) -> Decider:
        remade = inner.remade
        return replace(
            inner,
            decide=_Watched(inner, self),
            remade=None if remade is None else lambda: self._watched(remade()),
        )

    # What is told to a checker

    def saw(self, sight: SeenChange) -> None:
        if self._told:
            raise Violation(self.name, self._told)
        if sight.key.resource == OVERRIDES.name:
            self._saw_override(sight)
        elif sight.key.resource == DEFINITIONS:
            self._has_custom_kinds = True

    def _saw_override(self, sight: SeenChange) -> None:
        if sight.after is None:
            self._one_is_gone = True
            self._ends.pop(sight.key, None)
        else:
            self._ends[sight.key] = ledger.end_of(sight.after)
        is_told = sight.before is not None and sight.before.status.active
        if is_told and (sight.after is None or not sight.after.status.active):
            self._ask_all()

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        self._ask_all()

    def _ask_all(self) -> None:
        for name, plane, now in self._leading():
            if self._concerns(now):
                self._ask(name, plane, now)
                self._ask_scheduler(name, plane, now)
        if self._told:
            raise Violation(self.name, self._told)

    # Two decisions beside each other

    def _concerns(self, now: float) -> bool:
        return self._one_is_gone or any(now >= end for end in self._ends.values())

    def _is_left_out(self, decider: Decider) -> bool:
        of_custom_kinds = decider.remade is not None and self._has_custom_kinds
        return decider.name in _OF_EVERY_KIND or of_custom_kinds

    def decided(self, inner: Decider, view: Reading, key: Key, now: float, decision: Decision) -> None:
        if self._told or not self._concerns(now) or self._is_left_out(inner):
            return
        assert isinstance(view, MirrorView)
        self._compare(inner.name, self._anew(inner.name, now), view.afresh(), key, now, decision)

    def _anew(self, name: str, now: float) -> Decider:
        """One that was shown no override which has ended by now. To make them takes longer than to decide."""
        holding = {key for key, end in self._ends.items() if now < end}
        if not self._made or not self._shown <= holding:
            self._made = {each.name: each for each in _made_anew(self._deciders)}
            self._shown = set()
        self._shown |= holding
        return self._made[name]

    def _compare(
        self, name: str, anew: Decider, view: Reading, key: Key, now: float, decision: Decision | Exception
    ) -> None:
        self.compared += 1
        other = _decision(anew, _without_ended(view, now), key, now)
        if _differ(decision, other):
            self._told = (
                f"{name} decided about {'/'.join(key)} {_said(decision)}, and one that never had an override"
                f" which has ended {_said(other)}"
            )

    def _ask(self, plane_name: str, plane: Plane, now: float) -> None:
        """All of its keys, in the world as it is and in those that could come of it."""
        of_all = plane.look()
        for controller in plane.controllers:
            decider = controller.decider
            watched = decider.decide
            if self._is_left_out(decider) or not isinstance(watched, _Watched):
                continue
            named = plane.mirrors[decider.reads[0].name].index.all()
            keys = (*decider.initial_keys, *keys_of_all(decider, of_all, named, _ignore))
            anew = self._anew(decider.name, now)
            for suppose in SUPPOSED:
                for key in keys:
                    shown = _supposing(plane.look(), suppose)
                    decision = _decision(watched.inner, shown, key, now)
                    again = _supposing(plane.look(), suppose)
                    name = f"{decider.name} of {plane_name}, asked what if ({suppose.__name__}),"
                    self._compare(name, anew, again, key, now, decision)
                    if self._told:
                        return

    def _ask_scheduler(self, plane_name: str, plane: Plane, now: float) -> None:
        placer = plane.placer
        if placer is None or self._told or not _can_be_asked(placer, now):
            return
        empty: Mirror[Any] = Mirror(OVERRIDES)
        anew = type(placer)(
            Health(), count(1).__next__, {**plane.mirrors, OVERRIDES.name: empty}, _tell_nobody
        )
        anew.lead(now)
        for override in plane.mirrors[OVERRIDES.name].index.all():
            if not has_ended(override, now):
                anew.observe(OVERRIDES.name, None, override, now)
        for pod in plane.mirrors[PODS.name].index.all():
            asked = _as_new(pod)
            self.compared += 1
            one, other = _attempt(placer, asked), _attempt(anew, asked)
            if one != other:
                self._told = (
                    f"the scheduler of {plane_name}, asked where a pod like {pod.metadata.name} would go, says"
                    f" {_going(one)}, and one that never had an override which has ended {_going(other)}"
                )
                return


def _made_anew(make: Callable[[], Sequence[Decider]]) -> Sequence[Decider]:
    """No plane that there was or will be has any of them: what it remembers would be theirs too."""
    _forget_made()
    found = make()
    _forget_made()
    return found


def _forget_made() -> None:
    forget_made()
    usual_deciders.cache_clear()
    made_once.cache_clear()


class _Watched:
    """Decides, and has that compared."""

    def __init__(self, inner: Decider, checker: EndedAreForgotten) -> None:
        self.inner, self._checker = inner, checker

    def __call__(self, view: Reading, key: Key, now: float) -> Decision:
        decision = self.inner.decide(view, key, now)
        self._checker.decided(self.inner, view, key, now, decision)
        return decision


def _without_ended(view: Reading, now: float) -> Reading:
    shown: Any = WithoutEnded(view, now)
    return shown  # type: ignore[no-any-return]


def _supposing(view: Reading, suppose: Suppose) -> Reading:
    shown: Any = Supposing(view, suppose)
    return shown  # type: ignore[no-any-return]


def _decision(decider: Decider, view: Reading, key: Key, now: float) -> Decision | Exception:
    """What is supposed may be more than it can take: then it has to be so for both."""
    try:
        return decider.decide(view, key, now)
    except Exception as error:  # noqa: BLE001 - that it raises is compared as well
        return error


def _differ(one: Decision | Exception, other: Decision | Exception) -> bool:
    return repr(one) != repr(other) if isinstance(one, Exception) else one != other


def _said(decision: Decision | Exception) -> str:
    if isinstance(decision, Exception):
        return repr(decision)
    effects = [f"{type(each).__name__} {each.key.resource} {each.name}" for each in decision.effects]
    more = f" until {decision.again_at:.3f}" if decision.again_at else ""
    return f"{decision.verdict}{more}: {', '.join(effects) or 'nothing to do'}"


def _going(attempt: SchedulingAttempt | str) -> str:
    if isinstance(attempt, str):
        return attempt
    left = ", ".join(f"{each.plugin} {each.left}" for each in attempt.waterfall)
    where = attempt.node or attempt.nominated or "nowhere"
    return f"{where} of {attempt.nodes} (left after {left or 'nothing'}) {attempt.message}".rstrip()


def _as_new(pod: Pod) -> Pod:
    """One like it that nobody has placed yet."""
    meta = structs.replace(pod.metadata, name=pod.metadata.name + _SUPPOSED, uid=pod.metadata.uid + _SUPPOSED)
    status = structs.replace(pod.status, nominated_node_name="")
    return structs.replace(pod, metadata=meta, spec=structs.replace(pod.spec, node_name=""), status=status)


def _can_be_asked(placer: Placer, now: float) -> bool:
    """What it has under way no other has, and that an override has ended it finds out when it is its turn."""
    snapshot = placer.snapshot
    end = snapshot.overrides.next_end
    under_way = any(each.assumed for each in snapshot.placed.values())
    return placer.idle and not under_way and not 0.0 < end <= now


def _attempt(placer: Placer, pod: Pod) -> SchedulingAttempt | str:
    try:
        return placer.would_place(pod)
    except Exception as error:  # noqa: BLE001 - that it raises is compared as well
        return repr(error)


def _ignore(what: str, error: Exception) -> None:
    """The plane has said so itself."""


def _tell_nobody(*_: object) -> None:
    """Nobody reads what a scheduler has to say that is only asked."""
