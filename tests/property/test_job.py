"""Jobs under any order of turns, crashes inside turns, ends of pods, deletions and changes of mind.

Never more live pods than may run after a create; what succeeded is counted, once; after the trouble it comes to an end.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.decision.effects import Create
from fairlead.model.key import Key
from fairlead.model.views import JOBS, PODS, Job, Pod
from fairlead.reconcile.job.decider import job_decider
from fairlead.reconcile.job.pods import index_of, is_tracked
from fairlead.reconcile.job.policies import parse_indexes
from fairlead.reconcile.job.status import finished_condition
from tests.unit.reconcile.world import World, template

DECIDER = job_decider()
KEY = Key("jobs.batch", "default", "sum")

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.integers(0, 4)),  # carry out so many effects, then crash
        st.tuples(st.sampled_from(["succeed", "fail", "delete", "start"]), st.integers(0, 5)),
        st.tuples(st.just("parallelism"), st.integers(0, 4)),
        st.tuples(st.just("suspend"), st.integers(0, 1)),
        st.tuples(st.just("tick"), st.sampled_from([1, 30, 400])),
        st.tuples(st.sampled_from(["stop", "clear"]), st.just(0)),
    ),
    max_size=40,
)


class Story:
    """A Job, what is done to it, and what has really happened to its pods."""

    def __init__(self, completions: int, indexed: bool, **more: int) -> None:
        self.world = World()
        self.completions = completions
        self.indexed = indexed
        self.succeeded: list[Pod] = []
        self.failed: dict[str, Pod] = {}  # by uid: ended badly, or deleted before they ended
        mode = "Indexed" if indexed else "NonIndexed"
        spec = {
            "parallelism": 2,
            "completions": completions,
            "completionMode": mode,
            "backoffLimit": 1000,
            **more,
        }
        self.world.add(JOBS, "sum", spec={"template": template(restartPolicy="Never"), **spec})

    @property
    def job(self) -> Job:
        found = self.world.get(JOBS, "default", "sum")
        assert found is not None
        return found

    @property
    def live(self) -> list[Pod]:
        return [pod for pod in self.world.list(PODS) if pod.live]

    def turn(self, prefix: int) -> bool:
        decision = self.world.decide(DECIDER, KEY)
        before = self.job.status
        for effect in decision.effects[:prefix]:
            self.world.apply((effect,))
            if isinstance(effect, Create):
                assert len(self.live) <= self.job.spec.parallelism
        after = self.job.status
        assert after.succeeded >= before.succeeded
        assert after.failed >= before.failed
        return bool(decision.effects)

    def settle(self) -> None:
        for _ in range(500):
            if not self.turn(100):
                return
        raise AssertionError("does not settle")

    def step(self, what: str, number: int) -> None:
        world = self.world
        if what == "turn":
            self.turn(number)
        elif what == "tick":
            world.tick(number)
        elif what == "stop":
            world.stop_pods()
        elif what == "clear":  # somebody tidies up what has ended
            for pod in [pod for pod in world.list(PODS) if pod.finished]:
                world.delete(PODS, pod.metadata.name)
        elif what == "suspend":
            if finished_condition(self.job) is None:
                world.edit(JOBS, "sum", {"spec": {"suspend": bool(number)}})
        elif what == "parallelism":
            world.edit(JOBS, "sum", {"spec": {"parallelism": number}})
        elif number < len(self.live):
            self.happen(what, self.live[number])

    def happen(self, what: str, pod: Pod) -> None:
        name = pod.metadata.name
        if what in ("delete", "fail") and is_tracked(pod):
            self.failed[pod.metadata.uid] = pod
        if what == "delete":
            self.world.delete(PODS, name)
        elif what == "start":
            self.world.set_pod(name, "Running", ready=True)
        else:
            self.world.set_pod(name, "Succeeded" if what == "succeed" else "Failed")
            # A pod that was given up before it succeeded does not count, and its work is done again.
            if what == "succeed" and is_tracked(pod):
                self.succeeded.append(pod)

    def finish(self) -> None:
        """No more trouble: every pod runs to a good end."""
        if finished_condition(self.job) is None:
            self.world.edit(JOBS, "sum", {"spec": {"suspend": False, "parallelism": 2}})
        for _ in range(60):
            self.settle()
            if finished_condition(self.job) is not None:
                return
            self.world.stop_pods()
            self.world.tick(400)
            self.settle()
            for pod in self.live:
                self.happen("succeed", pod)
        raise AssertionError("does not end")


@settings(max_examples=150, deadline=None)
@given(completions=st.integers(1, 6), indexed=st.booleans(), steps=STEPS)
def test_a_job_counts_each_success_once_and_comes_to_its_end(
    completions: int, indexed: bool, steps: list[tuple[str, int]]
) -> None:
    story = Story(completions, indexed)
    for what, number in steps:
        story.step(what, number)
    story.finish()
    status = story.job.status
    assert any(each.type == "Complete" for each in status.conditions)
    assert status.uncounted_terminated_pods == {}
    assert not any(is_tracked(pod) or pod.live for pod in story.world.list(PODS))
    if indexed:
        indexes = [index_of(pod) for pod in story.succeeded]
        assert sorted(indexes) == list(range(completions)), "each index succeeded exactly once"
        assert parse_indexes(status.completed_indexes, completions) == set(indexes)
    assert status.succeeded == len(story.succeeded)
    assert status.succeeded >= completions


@settings(max_examples=100, deadline=None)
@given(limit=st.integers(0, 2), completions=st.integers(1, 4), steps=STEPS)
def test_an_index_is_tried_as_often_as_it_may_fail_and_no_more(
    limit: int, completions: int, steps: list[tuple[str, int]]
) -> None:
    story = Story(completions, True, backoffLimitPerIndex=limit)
    for what, number in steps:
        story.step(what, number)
    story.finish()
    status, failed = story.job.status, parse_indexes(story.job.status.failed_indexes, completions)
    by_index = [sum(index_of(pod) == index for pod in story.failed.values()) for index in range(completions)]
    assert all(count <= limit + 1 for count in by_index)
    assert failed == {index for index, count in enumerate(by_index) if count == limit + 1}
    completed = parse_indexes(status.completed_indexes, completions)
    assert completed | failed == set(range(completions))
    assert status.failed == sum(by_index), "each failure is counted once"
    assert not any(is_tracked(pod) or pod.live for pod in story.world.list(PODS))
