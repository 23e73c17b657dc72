"""Who did what to which object: one JSON line per request worth keeping, and counters for the rest.

Called by the write path when a transaction is planned (`accepted`) and by the request pipeline when a request is
refused (`refused`), or has read something (`read`). What it returns are Notes that ride in the same transaction as the
write they tell of: there is no write without its line and no line without its write. The revision a write gets is
known only at commit: the store keeps it beside the line, and `audit_line` joins the two when the log is read.

A user who impersonates another is named as `user`, and the other as `impersonatedUser`; rules and budgets are about
`user`. A line names fields, never values: no value of any object, Secret or not, reaches it, and of an error only its
reason, because messages quote values. The one exception are annotations, which an admission policy makes of what its
author chose (`spec.auditAnnotations`); of kinds with sensitive fields none are kept. `grant` names the AccessGrant
without which the request had been refused, `decision` the record of a plane's decision that the request carries out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import structs

from fairlead.api.access.users import UNAUTHENTICATED
from fairlead.api.audit.rules import DEFAULT_POLICY, READ_VERBS, AuditLevel, AuditPolicy, AuditTarget
from fairlead.api.plan import Context
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.spliced import Spliced
from fairlead.core.times import timestamp
from fairlead.store.contract import Note

STREAM = "audit"
# Refusals of those who are not signed in: a log of their own, so that they displace nothing.
STRANGERS = "audit-strangers"

_UNKEPT = (AuditLevel.NONE, AuditLevel.COUNT)
# Who shares a budget; no user is called so.
_STRANGERS, _HEARTBEATS = "", "\0heartbeats"
_TEXT_MAX = 200
_NAME_MAX = 253  # no name that exists is longer; of the others this much is enough
_GROUPS_MAX = 32  # of an impersonated user; who impersonates names them freely
_COUNTERS_MAX = 4096
_LEVELS_MAX = 4096
_LINES_KEPT = 1024
_INSTANTS_KEPT = 64
_FIELDS_MAX = 16  # that a line names which is kept
# What stands in a line that is kept for others like it, where those differ.
_TIME, _REQUEST, _NAME, _UID, _BEFORE = "@time@", "@request@", "@name@", "@uid@", 999_999_999_999_999_999
_DECISION = "@decision@"
_MARKS = {
    b"time": b"@time@",
    b"request": b"@request@",
    b"name": b'"@name@"',
    b"uid": b"@uid@",
    b"before": b"%d" % _BEFORE,
    b"decision": b"@decision@",
}


class _Line(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    time: str
    request_id: str
    user: str
    groups: tuple[str, ...]
    verb: str
    object: AuditTarget
    code: int
    reason: str = ""
    revision_before: int = 0
    changed: Sequence[str] = ()
    user_agent: str = ""
    source_ip: str = msgspec.field(default="", name="sourceIP")
    impersonated_user: str = ""
    impersonated_groups: Sequence[str] = ()
    policies: Sequence[str] = ()
    annotations: dict[str, str] = {}
    grant: str = ""
    decision: str = ""
    unrecorded: int = 0


_encode = msgspec.json.Encoder().encode
_NOTHING: Mapping[str, str] = {}


def audit_record(
    context: Context,
    verb: str,
    target: AuditTarget,
    code: int,
    *,
    reason: str = "",
    revision_before: int = 0,
    changed: Sequence[str] = (),
    policies: Sequence[str] = (),
    annotations: Mapping[str, str] = _NOTHING,
) -> bytes:
    """One line. `changed` holds field paths, as many as `model/diff.py` names at most."""
    user, taken_for = context.signed_in, context.user if context.impersonator is not None else None
    line = _Line(
        time=_precise(context.now),
        request_id=context.request_id,
        user=user.name,
        groups=user.groups,
        verb=verb,
        object=target,
        code=code,
        reason=reason,
        revision_before=revision_before,
        changed=changed,
        user_agent=context.user_agent[:_TEXT_MAX],
        source_ip=context.source,
        impersonated_user=taken_for.name[:_NAME_MAX] if taken_for is not None else "",
        impersonated_groups=[group[:_NAME_MAX] for group in taken_for.groups[:_GROUPS_MAX]]
        if taken_for is not None
        else (),
        policies=tuple(policies),
        annotations=dict(annotations),
        grant=context.grant,
        decision=context.decision,
    )
    return _encode(line)


def _precise(now: float) -> str:
    """To the millisecond: writes come closer together than that."""
    return _to_the_millisecond(int(now // 1), int(now * 1000) % 1000)


@lru_cache(maxsize=_INSTANTS_KEPT)
def _to_the_millisecond(second: int, milliseconds: int) -> str:
    return f"{timestamp(second)[:-1]}.{milliseconds:03d}Z"


def _unrecorded(context: Context, lines: int) -> _Line:
    user = context.user
    line = _Line(
        time=_precise(context.now),
        request_id=context.request_id,
        user=user.name,
        groups=user.groups,
        verb="record",
        object=AuditTarget(path="/fairlead/v1/audit"),
        code=507,
        reason="NotRecorded",
    )
    line.unrecorded = lines
    return line


def audit_line(sequence: int, note: Note) -> bytes:
    """A line as readers of the log get it: numbered, and with the revision its write got (0: none)."""
    revision = b"" if note.revision == 0 else b',"revision":%d' % note.revision
    return b'{"sequence":%d,"record":%s%s}}' % (sequence, note.body[:-1], revision)


class AuditMemory:
    """What follows from the policy that is built in, found out once for all servers of a process that share it."""

    __slots__ = ("levels", "lines")

    def __init__(self) -> None:
        # Lines of accepted writes, but for what tells one such write from another.
        self.lines: BoundedDict[tuple[object, ...], Spliced] = BoundedDict(_LINES_KEPT)
        self.levels: dict[tuple[object, ...], AuditLevel] = {}


class Audit:
    """The policy at work: asks it for a level, makes the line, counts what is not recorded.

    `counters` are plain integers by (verb, group-resource, role of the user), `suppressed` by stream; the runtime reads
    them.
    """

    __slots__ = (
        "_built_in",
        "_known",
        "_policy",
        "_second",
        "_spent",
        "_tells_apart",
        "_untold",
        "counters",
        "suppressed",
        "unrecorded",
    )

    def __init__(self, policy: AuditPolicy = DEFAULT_POLICY, built_in: AuditMemory | None = None) -> None:
        self._built_in = built_in
        self._known = self._known_under(policy)
        self._policy, self._tells_apart = policy, policy.tells_apart
        self.counters: dict[tuple[str, str, str], int] = {}
        self.suppressed = {STREAM: 0, STRANGERS: 0}  # beyond the policy's rate
        self.unrecorded = 0  # lines that the journal did not take
        self._untold = 0  # of them, those that no line tells of yet
        self._second = 0
        self._spent: dict[str, int] = {}  # by user, in this second; strangers are one, and so are heartbeats

    @property
    def is_kept(self) -> bool:
        """Whether writes have lines at all."""
        return True

    def follow(self, policy: AuditPolicy) -> None:
        """From now on, this is what is kept. Lines and counts stay as they are."""
        self._policy, self._tells_apart = policy, policy.tells_apart
        self._known = self._known_under(policy)

    def _known_under(self, policy: AuditPolicy) -> AuditMemory:
        built_in = self._built_in if policy is DEFAULT_POLICY else None
        return built_in or AuditMemory()

    def accepted(
        self,
        context: Context,
        verb: str,
        target: AuditTarget,
        code: int,
        *,
        revision_before: int = 0,
        changed: Sequence[str] = (),
        heartbeat: bool = False,
        policies: Sequence[str] = (),
        annotations: Mapping[str, str] = _NOTHING,
    ) -> tuple[Note, ...]:
        """The notes of a write that is about to be committed: none or one."""
        user = context.user
        like = (
            verb,
            target.group,
            target.plural,
            target.namespace,
            target.subresource,
            user.name,
            user.groups,
            code,
            tuple(changed),
            context.user_agent,
            context.source,
            revision_before > 0,
            bool(context.decision),
        )
        alike = not (
            heartbeat or context.impersonator is not None or policies or annotations or context.grant
        )
        known = self._known.lines.get(like) if alike else None
        if known is not None:
            return (Note(STREAM, _filled(known, context, target, revision_before)),)
        level = self._level(context, verb, target, code, heartbeat)
        if heartbeat and level not in _UNKEPT and not self._affords(_HEARTBEATS, context.now, STREAM):
            level = AuditLevel.COUNT
        if level in _UNKEPT:
            self._count(level, context, verb, target)
            return ()
        keep = changed if level is AuditLevel.CHANGES else ()
        body = audit_record(
            context, verb, target, code, revision_before=revision_before, changed=keep, policies=policies,
            annotations=annotations,
        )  # fmt: skip
        if alike and not self._tells_apart:
            self._remember(like, context, verb, target, code, keep, revision_before)
        return (Note(STREAM, body),)

    def _remember(
        self,
        like: tuple[object, ...],
        context: Context,
        verb: str,
        target: AuditTarget,
        code: int,
        changed: Sequence[str],
        revision_before: int,
    ) -> None:
        """Keep this line for the next write like it, unless something in it could be taken for a mark."""
        if context.impersonator is not None or not (target.name and target.uid) or len(changed) > _FIELDS_MAX:
            return
        marked = _Line(
            time=_TIME,
            request_id=_REQUEST,
            user=context.user.name,
            groups=context.user.groups,
            verb=verb,
            object=structs.replace(target, name=_NAME, uid=_UID),
            code=code,
            reason="",
            revision_before=_BEFORE if revision_before > 0 else 0,
            changed=changed,
            user_agent=context.user_agent[:_TEXT_MAX],
            source_ip=context.source,
            decision=_DECISION if context.decision else "",
        )
        line = Spliced(_encode(marked), _MARKS)
        if _filled(line, context, target, revision_before) == audit_record(
            context, verb, target, code, revision_before=revision_before, changed=changed
        ):
            self._known.lines.keep(like, line)

    def refused(
        self,
        context: Context,
        verb: str,
        target: AuditTarget,
        code: int,
        reason: str,
        policies: Sequence[str] = (),
    ) -> tuple[Note, ...]:
        """The notes of a request that was answered with an error; they are committed without a change."""
        target = AuditTarget(*[text[:_NAME_MAX] for text in msgspec.structs.astuple(target)])
        level = self._level(context, verb, target, code, False)
        if level in _UNKEPT:
            self._count(level, context, verb, target)
            return ()
        stream = STRANGERS if UNAUTHENTICATED in context.signed_in.groups else STREAM
        spender = _STRANGERS if stream == STRANGERS else context.signed_in.name
        if not self._affords(spender, context.now, stream):
            return ()
        return (Note(stream, audit_record(context, verb, target, code, reason=reason, policies=policies)),)

    def read(self, context: Context, verb: str, target: AuditTarget, code: int) -> tuple[Note, ...]:
        """The notes of a request that was answered and changed nothing.

        A dry run, a patch that changes nothing and a review are judged as reads of what they show, whatever their
        verb: a line of a write would tell of a change that did not happen.
        """
        level = self._level(context, verb if verb in READ_VERBS else "get", target, code, False)
        if level in _UNKEPT:
            self._count(level, context, verb, target)
            return ()
        if not self._affords(context.signed_in.name, context.now, STREAM):
            return ()
        return (Note(STREAM, audit_record(context, verb, target, code)),)

    def lost(self, lines: int) -> None:
        """The journal did not take so many lines of requests that were answered all the same."""
        self.unrecorded += lines
        self._untold += lines

    def made_up(self, context: Context) -> tuple[Note, ...]:
        """The line that tells how many there were, once lines are taken again; none if there were none."""
        lost, self._untold = self._untold, 0
        return (Note(STREAM, _encode(_unrecorded(context, lost))),) if lost else ()

    def _affords(self, spender: str, now: float, stream: str) -> bool:
        """Whether the budget of a user, or one that many share, has room for one more line in this second."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._spent.clear()
        spent = self._spent[spender] = self._spent.get(spender, 0) + 1
        policy = self._policy
        shared = {
            _STRANGERS: policy.strangers_per_second_max,
            _HEARTBEATS: policy.heartbeats_per_second_max,
        }
        if spent > shared.get(spender, policy.refusals_per_second_max):
            self.suppressed[stream] += 1
            return False
        return True

    def _level(
        self, context: Context, verb: str, target: AuditTarget, code: int, heartbeat: bool
    ) -> AuditLevel:
        user = context.signed_in
        one = (target.name or target.path) if self._tells_apart else ""
        what = (target.group, target.plural, target.subresource, target.namespace, one)
        key = (verb, what, user.name, user.groups, code, heartbeat)
        levels = self._known.levels
        level = levels.get(key)
        if level is None:
            level = self._policy.level(verb, target, user, code, heartbeat)
            if len(levels) >= _LEVELS_MAX:
                levels.clear()
            levels[key] = level
        return level

    def _count(self, level: AuditLevel, context: Context, verb: str, target: AuditTarget) -> None:
        if level is not AuditLevel.COUNT:
            return
        key = (verb, _qualified(target), context.signed_in.role)
        if key not in self.counters and len(self.counters) >= _COUNTERS_MAX:
            key = (verb, "other", "other")
        self.counters[key] = self.counters.get(key, 0) + 1


def _filled(line: Spliced, context: Context, target: AuditTarget, revision_before: int) -> bytes:
    values = {
        b"time": _precise(context.now).encode(),
        b"request": context.request_id.encode(),
        b"name": _encode(target.name),
        b"uid": target.uid.encode(),
    }
    if revision_before > 0:
        values[b"before"] = b"%d" % revision_before
    if context.decision:
        values[b"decision"] = context.decision.encode()
    return line.fill(values)


def _qualified(target: AuditTarget) -> str:
    return f"{target.plural}.{target.group}" if target.group else target.plural
