"""The code under test beside the oracle: the same objects go through `fairlead.schedule`, and the answers are compared.

The only file here, besides tests, that knows Fairlead. A disagreement says seed, pod, node, plugin and both answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from fairlead.model.views import Namespace, Node, Pod, View
from fairlead.schedule.contract import BEST_SHOWN
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot
from tests.oracle.cluster import Cluster
from tests.oracle.generating import Case
from tests.oracle.placing import Expected
from tests.oracle.scores import SCORES

Json = dict[str, Any]
V = TypeVar("V", bound=View)


def viewed(obj: Json, view: type[V]) -> V:
    """An object as mirrors would decode it."""
    return msgspec.json.decode(msgspec.json.encode(obj), type=view)


def snapshot_of(cluster: Cluster) -> Snapshot:
    snapshot = Snapshot()
    for space in cluster.namespaces:
        snapshot.observe("namespaces", None, viewed(space, Namespace))
    for node in cluster.nodes:
        snapshot.observe("nodes", None, viewed(node, Node))
    for pod in cluster.pods:
        snapshot.observe("pods", None, viewed(pod, Pod))
    return snapshot


class Answer(msgspec.Struct, frozen=True):
    """What the code under test says of one pod."""

    node: str
    open: set[str]
    totals: dict[str, int]
    parts: dict[str, dict[str, int]]  # plugin -> open node -> score
    refusals: dict[tuple[str, str], int]
    waterfall: dict[str, int]  # filter -> nodes still possible after it
    shown: list[tuple[str, int]]  # the best nodes with their totals, as they are told to users


def ask(cycle: Cycle, snapshot: Snapshot, pod: Pod, assume: bool) -> Answer:
    nodes = snapshot.nodes
    state = cycle.state(snapshot.facts_of(pod))
    slots = {name: slot for name, slot in nodes.slot.items() if state.open[slot]}
    refused = {(each.plugin, each.reason): each.nodes for each in cycle.refusals(state)}
    totals = {name: int(state.total[slot]) for name, slot in slots.items()}
    parts = {
        plugin.name: {name: int(scores[slot]) for name, slot in slots.items()}
        for plugin, _, scores in state.parts
    }
    attempt = cycle.place(pod, assume)
    waterfall = {stage.plugin: stage.left for stage in attempt.waterfall}
    shown = [(each.node, each.total) for each in attempt.best]
    return Answer(
        node=attempt.node,
        open=set(slots),
        totals=totals,
        parts=parts,
        refusals=refused,
        waterfall=waterfall,
        shown=shown,
    )


def disagreements(case: Case, answers: list[Expected], policy: Policy) -> Iterator[str]:
    """What oracle and code say differently of a case, pod after pod until the first pod that they differ on.

    Every pod is asked about twice: in the cycle that places all of them, which is kept up to date by `touched`, and
    in a new one that has seen nothing before.
    """
    snapshot = snapshot_of(case.cluster)
    cycle = Cycle(snapshot, policy, preempting=False)
    for pod, expected in zip(case.pods, answers, strict=True):
        view = viewed(pod, Pod)
        told = [
            f"seed {case.seed}, pod {view.metadata.name}, {way} cycle: {difference}"
            for way, answer in (
                ("new", ask(Cycle(snapshot, policy, preempting=False), snapshot, view, False)),
                ("kept", ask(cycle, snapshot, view, True)),
            )
            for difference in _differences(expected, answer)
        ]
        if told:
            yield from told
            return


def _differences(expected: Expected, answer: Answer) -> Iterator[str]:
    open_to_it, refused = expected.feasible, expected.refusals
    for name in sorted(open_to_it ^ answer.open):
        says, denies = ("oracle", "code") if name in open_to_it else ("code", "oracle")
        yield f"node {name} is feasible for the {says}, not for the {denies}; refusals {refused} and {answer.refusals}"
    if open_to_it != answer.open:
        return
    if refused != answer.refusals:
        yield f"refusals: oracle {refused}, code {answer.refusals}"
    for plugin in answer.parts.keys() - SCORES.keys():
        yield f"{plugin} scores, of which the oracle knows nothing"
    totals = dict.fromkeys(open_to_it, 0)
    for plugin, (weight, _) in SCORES.items():
        scores, found = expected.best.parts[plugin], answer.parts.get(plugin)
        if found is None:
            # Having no opinion is to say the same of all; how much does not matter.
            if len(set(scores.values())) > 1:
                yield f"{plugin} has no opinion for the code; for the oracle {scores}"
            continue
        for name in sorted(open_to_it):
            totals[name] += weight * scores[name]
            if scores[name] != found[name]:
                yield f"node {name}, {plugin}: oracle {scores[name]}, code {found[name]}"
    if totals != answer.totals:
        yield f"totals: oracle {totals}, code {answer.totals}"
    for plugin, left in answer.waterfall.items():
        if left != expected.left_after(plugin):
            yield f"left after {plugin}: oracle {expected.left_after(plugin)}, code {left}"
    shown = sorted(totals.items(), key=lambda each: (-each[1], each[0]))[:BEST_SHOWN]
    if shown != answer.shown:
        yield f"the best: oracle {shown}, code {answer.shown}"
    if expected.chosen != answer.node:
        yield f"chosen: oracle {expected.chosen!r}, code {answer.node!r}"
