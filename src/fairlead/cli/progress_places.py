"""How far a workload's pods have come in each zone, region or pool, for `fairlead progress --by`: as a table, and as
JSON. Pure.

A pod is where its node is; one that has no node yet is in none, and neither is one on a node that does not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from fairlead.cli.output import align, cell
from fairlead.ledger.override import PLACE_LABELS
from fairlead.ledger.progress import standing_of
from fairlead.model.reasons import SERVING
from fairlead.model.stages import STAGES
from fairlead.model.views import Node, Pod

NOWHERE = "<none>"


class PlaceCounts(NamedTuple):
    """`by_place`: of each place, and of "" for pods in none, how many pods have come at least to each stage."""

    stages: list[str]
    by_place: dict[str, list[int]]

    def told(self) -> list[dict[str, str | int]]:
        """As JSON; the place of pods in none is called ""."""
        return [
            {"name": name, **dict(zip(self.stages, counts, strict=True))}
            for name, counts in self.by_place.items()
        ]

    def lines(self, by: str) -> list[str]:
        rows = [(cell(name or NOWHERE), *map(str, counts)) for name, counts in self.by_place.items()]
        header = (by.upper(), *(each.upper() for each in self.stages))
        widths = [max(len(row[index]) for row in (header, *rows)) for index in range(len(header))]
        return ["", *(align(row, widths) for row in (header, *rows))]


def places_of(nodes: Iterable[Node], by: str) -> dict[str, str]:
    """Where each node is, by its name."""
    return {each.metadata.name: each.metadata.labels.get(PLACE_LABELS[by]) or "" for each in nodes}


def count_by_place(pods: Iterable[Pod], served: Set[str] | None, places: Mapping[str, str]) -> PlaceCounts:
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
    return PlaceCounts(
        stages, {name: counts[name] for name in sorted(counts, key=lambda each: (not each, each))}
    )
