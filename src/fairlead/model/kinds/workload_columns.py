"""Columns that the kinds that own pods share in `kubectl get`: their containers, images and selectors.

The kinds' modules place these in their column lists. Cells are pure functions of the object and of now.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.model.cells import NONE, label_selector_text
from fairlead.model.kind import Cell, Column, Json
from fairlead.model.kinds.workload import part


def counter(name: str, *path: str, kind: str = "integer") -> Column:
    """A number at `path`, 0 when absent."""

    def cell(obj: Json, now: float) -> Cell:
        tree = obj
        for key in path[:-1]:
            tree = part(tree, key)
        return tree.get(path[-1]) or 0

    return Column(name, cell, type=kind)


def ready_column(description: str) -> Column:
    """How many of the wanted replicas are ready: `2/3`."""

    def cell(obj: Json, now: float) -> Cell:
        replicas = part(obj, "spec").get("replicas")
        return f"{part(obj, 'status').get('readyReplicas') or 0}/{1 if replicas is None else replicas}"

    return Column("Ready", cell, description=description)


def more_text(items: list[str], limit: int, separator: str = ",") -> str:
    """The first few of a list and how many more there are."""
    text = separator.join(items[:limit])
    return f"{text} + {len(items) - limit} more..." if len(items) > limit else text


def template_columns(
    spec_of: Callable[[Json], Json] = lambda obj: part(obj, "spec"), *, with_selector: bool = True
) -> tuple[Column, ...]:
    """The columns of `-o wide`; `spec_of` finds the tree that holds `template` and `selector`."""

    def joined(field: str) -> Callable[[Json, float], Cell]:
        def cell(obj: Json, now: float) -> Cell:
            pod = part(part(spec_of(obj), "template"), "spec")
            return ",".join(container.get(field) or "" for container in pod.get("containers") or ())

        return cell

    columns = (
        Column(
            "Containers", joined("name"), priority=1, description="Names of each container in the template."
        ),
        Column(
            "Images", joined("image"), priority=1, description="Images of each container in the template."
        ),
    )
    if not with_selector:
        return columns
    chosen = Column(
        "Selector",
        lambda obj, now: label_selector_text(spec_of(obj).get("selector")),
        priority=1,
        description="Label selector for the pods of this object.",
    )
    return (*columns, chosen)


def _progress(obj: Json, now: float) -> Cell:
    """What its controllers last wrote down: the furthest stage that all have not reached yet, and why."""
    told = part(part(obj, "status"), "progress")
    if not told:
        return NONE
    limit, hold = told.get("limit"), told.get("hold")
    if not limit:
        return f"on hold: {hold.get('reason')}" if hold else "done"
    reason = f": {limit['reason']}" if limit.get("reason") else ""
    same = (limit.get("stage"), limit.get("reason"))
    groups = told.get("pending") or ()
    waiting = max(
        (g.get("count") or 0 for g in groups if (g.get("stage"), g.get("reason")) == same), default=0
    )
    return f"{waiting} at {limit.get('stage') or 'unknown'}{reason}"


PROGRESS = Column(
    "Progress", _progress, priority=1, description="Pods that are not done, where most of them are, and why."
)
