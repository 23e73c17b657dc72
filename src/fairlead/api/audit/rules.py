"""What audit keeps of which request: ordered rules as data, the first that matches decides.

Read by `recording.py` for every write, every read and every refusal. A rule's empty tuple means "any". The built-in
rules: heartbeats and the plane's own Events are counted, reads of Secrets and refusals are recorded without detail,
other accepted reads are not kept at all, and every other write is recorded with the paths of the fields it changed.
Rules of the AuditPolicy `default` (`in_force.py`) are asked before them; `ALWAYS` is asked before those.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import msgspec

from fairlead.api.access.users import User
from fairlead.model.key import Key
from fairlead.model.kind import Kind
from fairlead.model.kinds import auditpolicy


class AuditLevel(Enum):
    """How much is kept. Each level holds what the one before holds."""

    NONE = auditpolicy.NONE
    COUNT = auditpolicy.COUNT
    METADATA = auditpolicy.METADATA
    CHANGES = auditpolicy.CHANGES


class AuditTarget(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a request was about: an object, a collection (no name), or a path that is no resource."""

    group: str = ""
    plural: str = msgspec.field(default="", name="resource")
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    uid: str = ""
    path: str = ""


def object_target(kind: Kind, key: Key, uid: str, subresource: str = "") -> AuditTarget:
    return AuditTarget(kind.group, kind.plural, key.namespace, key.name, subresource, uid)


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of one group, spelled as Kubernetes' audit policies do: pods, pods/log, pods/*, */scale, *."""

    group: str
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def match(self, target: AuditTarget) -> bool:
        return (
            self.group == target.group
            and (not self.names or target.name in self.names)
            and (not self.resources or any(_covers(each, target) for each in self.resources))
        )


def _covers(pattern: str, target: AuditTarget) -> bool:
    resource, _, subresource = pattern.partition("/")
    if pattern == "*":
        return True
    if resource not in ("*", target.plural):
        return False
    return bool(target.subresource) if subresource == "*" else subresource == target.subresource


@dataclass(frozen=True, slots=True)
class AuditRule:
    """Matches when every condition that is given matches."""

    level: AuditLevel
    verbs: tuple[str, ...] = ()
    resources: tuple[Resources, ...] = ()
    namespaces: tuple[str, ...] = ()  # "" is that of objects which have none
    urls: tuple[str, ...] = ()  # paths that are no resources; a * at the end stands for any rest
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()  # HTTP
    refused: bool | None = None  # True: 4xx and 5xx only; False: accepted only
    heartbeat: bool | None = None

    def matches(self, verb: str, target: AuditTarget, user: User, status: int, heartbeat: bool) -> bool:
        return (
            (not self.verbs or verb in self.verbs)
            and self._is_about(target)
            and (not self.users or user.name in self.users)
            and (not self.groups or any(group in user.groups for group in self.groups))
            and (not self.statuses or status in self.statuses)
            and (self.refused is None or self.refused == (status >= 400))
            and (self.heartbeat is None or self.heartbeat == heartbeat)
        )

    def _is_about(self, target: AuditTarget) -> bool:
        if not target.plural:
            if self.resources or self.namespaces:
                return False
            return not self.urls or any(_leads_to(url, target.path) for url in self.urls)
        return (
            not self.urls
            and (not self.namespaces or target.namespace in self.namespaces)
            and (not self.resources or any(each.match(target) for each in self.resources))
        )


def _leads_to(url: str, path: str) -> bool:
    return path.startswith(url[:-1]) if url.endswith("*") else path == url


READ_VERBS = ("get", "list", "watch")
WRITE_VERBS = ("create", "update", "patch", "delete", "deletecollection")
# No policy silences its own change: these come before the rules of every policy.
_OWN = (Resources(auditpolicy.KIND.group, (auditpolicy.KIND.plural, f"{auditpolicy.KIND.plural}/*")),)
ALWAYS = (
    AuditRule(AuditLevel.METADATA, verbs=WRITE_VERBS, resources=_OWN, refused=True),
    AuditRule(AuditLevel.CHANGES, verbs=WRITE_VERBS, resources=_OWN),
)


@dataclass(frozen=True, slots=True)
class AuditPolicy:
    rules: tuple[AuditRule, ...]
    # Refusals and reads of one user beyond this many in one second are counted only: whoever sends junk must not fill
    # the disk, nor hide what others do.
    #: bound: audit | refusals, and recorded reads, of one user in one second | not kept
    refusals_per_second_max: int = 50
    #: bound: audit | refusals of all who are not signed in | not kept
    strangers_per_second_max: int = 10  # refusals of all together who are not signed in
    #: bound: audit | lines of heartbeats in one second, where a rule asks for them | counted
    heartbeats_per_second_max: int = 20  # of all together, where a rule makes lines of them

    @property
    def tells_apart(self) -> bool:
        """Whether names of objects, or paths, make a difference."""
        return any(rule.urls or any(each.names for each in rule.resources) for rule in self.rules)

    def level(
        self, verb: str, target: AuditTarget, user: User, status: int, heartbeat: bool = False
    ) -> AuditLevel:
        for rules in (ALWAYS, self.rules):
            for rule in rules:
                if rule.matches(verb, target, user, status, heartbeat):
                    return rule.level
        return AuditLevel.NONE


# Who writes Events and removes expired ones: a log beside the log would say everything twice.
PLANE_USERS = ("system:fairlead", "system:fairlead:events")

DEFAULT_POLICY = AuditPolicy(
    rules=(
        AuditRule(AuditLevel.COUNT, refused=False, heartbeat=True),
        AuditRule(
            AuditLevel.COUNT, resources=(Resources("", ("events",)),), users=PLANE_USERS, refused=False
        ),
        AuditRule(AuditLevel.METADATA, statuses=(401, 403)),
        AuditRule(AuditLevel.METADATA, verbs=READ_VERBS, resources=(Resources("", ("secrets",)),)),
        AuditRule(AuditLevel.METADATA, verbs=WRITE_VERBS, refused=True),
        AuditRule(AuditLevel.CHANGES, verbs=WRITE_VERBS),
    )
)
