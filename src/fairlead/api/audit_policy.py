"""What audit keeps of which request: ordered rules as data, the first that matches decides.

Read by `audit.py` for every write and every refusal. A rule's empty tuple means "any". The default policy:
heartbeats and the plane's own Events are counted, reads of Secrets and refusals are recorded without detail, other
accepted reads are not kept at all, and every other write is recorded with the paths of the fields it changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fairlead.api.users import User


class Level(Enum):
    """How much is kept. Each level holds what the one before holds."""

    NONE = "None"
    COUNT = "Count"
    METADATA = "Metadata"
    CHANGES = "Changes"


@dataclass(frozen=True, slots=True)
class AuditRule:
    """Matches when every condition that is given matches."""

    level: Level
    verbs: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()  # group-resources: pods, deployments.apps
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()  # HTTP
    refused: bool | None = None  # True: 4xx and 5xx only; False: accepted only
    heartbeat: bool | None = None

    def matches(self, verb: str, resource: str, user: User, status: int, heartbeat: bool) -> bool:
        return (
            (not self.verbs or verb in self.verbs)
            and (not self.resources or resource in self.resources)
            and (not self.users or user.name in self.users)
            and (not self.groups or any(group in user.groups for group in self.groups))
            and (not self.statuses or status in self.statuses)
            and (self.refused is None or self.refused == (status >= 400))
            and (self.heartbeat is None or self.heartbeat == heartbeat)
        )


@dataclass(frozen=True, slots=True)
class AuditPolicy:
    rules: tuple[AuditRule, ...]
    # Refusals and reads of one user beyond this many in one second are counted only: whoever sends junk must not fill
    # the disk, nor hide what others do.
    refusals_per_second_max: int = 50
    strangers_per_second_max: int = 10  # refusals of all together who are not signed in

    def level(self, verb: str, resource: str, user: User, status: int, heartbeat: bool = False) -> Level:
        for rule in self.rules:
            if rule.matches(verb, resource, user, status, heartbeat):
                return rule.level
        return Level.NONE


# Who writes Events and removes expired ones: a log beside the log would say everything twice.
PLANE_USERS = ("system:fairlead", "system:fairlead:events")
READ_VERBS = ("get", "list", "watch")
WRITE_VERBS = ("create", "update", "patch", "delete", "deletecollection")

DEFAULT_POLICY = AuditPolicy(
    rules=(
        AuditRule(Level.COUNT, refused=False, heartbeat=True),
        AuditRule(Level.COUNT, resources=("events",), users=PLANE_USERS, refused=False),
        AuditRule(Level.METADATA, statuses=(401, 403)),
        AuditRule(Level.METADATA, verbs=READ_VERBS, resources=("secrets",)),
        AuditRule(Level.METADATA, verbs=WRITE_VERBS, refused=True),
        AuditRule(Level.CHANGES, verbs=WRITE_VERBS),
    )
)
