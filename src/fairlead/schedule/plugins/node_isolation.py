"""What a pod asks of the walls around it, against what nodes say they isolate: its agent would refuse it there.

A node that says nothing of it (`fairlead.dev/isolates-users`, `-mounts`) is not judged. One whose agent has no users to
give still runs pods of the agent's own user and group, which its labels name.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fairlead.ledger.isolation_needs import NONE, Walls
from fairlead.model.marks import AGENT_GROUP, AGENT_USER, ISOLATES_MOUNTS, ISOLATES_USERS
from fairlead.model.selectors import Requirement
from fairlead.schedule.contract import Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.labels import where_label
from fairlead.schedule.nodes import Ints, Mask, Nodes
from fairlead.schedule.plugins.static import Reasons, Static
from fairlead.schedule.snapshot import Snapshot

USERS = "node(s) had no users, groups or capabilities of their own for pods"
FILES = "node(s) had no files of their own for containers"


class NodeIsolation:
    name: ClassVar[str] = "NodeIsolation"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes"})
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ("user", "node-admin")

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        if facts.walls == NONE:
            return None
        nodes = snapshot.nodes
        return nodes.derived((self.name, facts), lambda: _prepared(nodes, facts.walls))


def _prepared(nodes: Nodes, walls: Walls) -> Static:
    users, files = where_users(nodes, walls), where_files(nodes, walls)
    return Static(users & files, _reasons(users, files))


def where_users(nodes: Nodes, walls: Walls) -> Mask:
    asked = bool(walls.users or walls.groups or walls.privileges)
    mask: Mask = where_label(nodes, Requirement(ISOLATES_USERS, "notin", ("false",)))
    if not asked:
        return np.ones_like(mask)
    if walls.privileges or len(walls.users) > 1 or len(walls.groups) > 1:
        return mask
    same = np.ones_like(mask)
    for label, numbers in ((AGENT_USER, walls.users), (AGENT_GROUP, walls.groups)):
        if numbers:
            same &= where_label(nodes, Requirement(label, "in", (str(numbers[0]),)))
    return mask | same


def where_files(nodes: Nodes, walls: Walls) -> Mask:
    mask: Mask = where_label(nodes, Requirement(ISOLATES_MOUNTS, "notin", ("false",)))
    return mask if walls.files else np.ones_like(mask)


def _reasons(users: Mask, files: Mask) -> Reasons:
    def told(slots: Ints) -> dict[str, int]:
        found = {
            USERS: int(np.count_nonzero(~users[slots])),
            FILES: int(np.count_nonzero(users[slots] & ~files[slots])),
        }
        return {reason: number for reason, number in found.items() if number}

    return told
