"""How far a workload's pods have come in each zone, region or pool: the table of `fairlead progress --by`. Pure.

A pod is where its node is; one that has no node yet is in none, and neither is one on a node that does not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from fairlead.cli.output import align, cell
from fairlead.ledger.override import PLACE_LABELS
from fairlead.ledger.progress import standing_of
from fairlead.model.reasons import SERVING
from fairlead.model.stages import STAGES
from fairlead.model.views import Node, Pod

NOWHERE = "<none>"


def places_of(nodes: Iterable[Node], by: str) -> dict[str, str]:
    """Where each node is, by its name."""
    return {each.metadata.name: each.metadata.labels.get(PLACE_LABELS[by]) or "" for each in nodes}


def lines_by_place(
    pods: Iterable[Pod], served: Set[str] | None, places: Mapping[str, str], by: str
) -> list[str]:
    """Each number counts the pods that have come at least so far, as the workload's own do."""
    stages = [each for each in STAGES if each != SERVING or served is not None]
    counts: dict[str, list[int]] = {each: [0] * len(stages) for each in places.values() if each}
    for pod in pods:
        stage = standing_of(pod, served).stage
        if stage not in STAGES:
            continue
        row = counts.setdefault(places.get(pod.spec.node_name, ""), [0] * len(stages))
        for index in range(min(STAGES.index(stage), len(stages) - 1) + 1):
            row[index] += 1
    rows = [
        (cell(name or NOWHERE), *map(str, counts[name]))
        for name in sorted(counts, key=lambda each: (not each, each))
    ]
    header = (by.upper(), *(each.upper() for each in stages))
    widths = [max(len(row[index]) for row in (header, *rows)) for index in range(len(header))]
    return ["", *(align(row, widths) for row in (header, *rows))]
