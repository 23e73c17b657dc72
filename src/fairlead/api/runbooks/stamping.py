"""Runs as they are created, answered and aborted: what the server writes into them, whatever the request says.

Called by `checking.py`. A new run gets who asks for it (`requestedBy`: with those rights it acts, see `acting.py`) and
a copy of the runbook as it is now (`procedure`: a later change of the Runbook changes no run). Its expressions are
evaluated by the plane on what the plane reads; so who creates a run must be allowed to read all of that. Of a run that
exists people may write an answer to the step that asks, and that it be aborted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.api.access.contract import Attributes, require
from fairlead.api.access.users import IMPERSONATED_BY, user_info
from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.objects import tree
from fairlead.api.status import invalid
from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.runbook import ASKING, ENDED, RUN, RUNBOOK, phase_of
from fairlead.model.kinds.workload import part
from fairlead.model.runbooks.procedure import Procedure, compile_procedure
from fairlead.model.runbooks.running import (
    decided_about,
    facts_of,
    fields_asked,
    places_of,
    where_of,
)
from fairlead.model.runbooks.values import check_values, read_values

_DECISIONS = "/fairlead/v1/decisions"
_WRITTEN_HERE = ("requestedBy", "procedure")
#: bound: objects | runs of runbooks in a namespace that have not ended | 403
RUNS_MAX = 20


def stamp_run(desk: Desk, attempt: Attempt) -> None:
    problems = Problems()
    if attempt.old is None:
        _stamp_new(desk, attempt, problems)
    elif attempt.verb != "delete":
        _stamp_change(desk, attempt, attempt.old, problems)
    if problems:
        raise invalid(attempt.kind, attempt.key.name, problems)


def keep_readings(attempt: Attempt, new: Json, old: Json) -> None:
    """Steps are taken by what was measured, and measuring leaves no line in the audit log: the server alone writes it.
    Who leaves it out, as a client does that knows nothing of it, takes nothing away."""
    before, after = part(old, "status").get("readings"), part(new, "status").get("readings")
    if before == after or _is_server(attempt):
        return
    if after is not None:
        user = attempt.context.user.name
        raise attempt.forbidden(f'status.readings is written by the server alone, not by "{user}"')
    new["status"] = {**part(new, "status"), "readings": before}


def _is_server(attempt: Attempt) -> bool:
    context = attempt.context
    return is_plane(context.user) and context.impersonator is None


def _stamp_new(desk: Desk, attempt: Attempt, problems: Problems) -> None:
    new = attempt.new
    assert new is not None
    spec = new.setdefault("spec", {})
    for field in ("answers", "abort"):
        if spec.get(field):
            problems.forbidden(f"spec.{field}", "a new run has none yet")
    _check_number(attempt)
    entry = attempt.read.get(Key(RUNBOOK.resource, "", str(spec.get("runbook") or "")))
    if entry is None:
        problems.not_found("spec.runbook", spec.get("runbook") or "")
        return
    book = part(tree(entry), "spec")
    stale = Problems()
    procedure = compile_procedure(book, desk.catalog, desk.tables, stale, series=desk.series)
    if stale:
        told = f"the runbook is stale: {stale.summary()}; `fairlead runbook check` says the same"
        problems.invalid("spec.runbook", spec["runbook"], told)
        return
    check_values(procedure.params, spec.get("params") or {}, "spec.params", problems)
    if problems:
        return
    values = read_values(procedure.params, spec.get("params") or {})
    _require_reads(desk, attempt, procedure, values)
    spec["requestedBy"] = _requester(attempt)
    spec["procedure"] = {name: value for name, value in book.items() if name != "page"}


def _requester(attempt: Attempt) -> Json:
    """With whose rights it acts. Who took that name to create it is told: what needs a second person asks for that
    (`api/admission/override/approval.py`), and what the run does later is done by the controller."""
    found, acting = user_info(attempt.context.user), attempt.context.impersonator
    if acting is not None and not is_plane(acting):
        found["extra"] = {**(found.get("extra") or {}), IMPERSONATED_BY: [acting.name]}
    return found


def _check_number(attempt: Attempt) -> None:
    """Each looks at what it waits for again and again: a namespace may have some of them, not any number."""
    runs = (tree(each) for each in attempt.read.list(RUN.resource, attempt.key.namespace))
    going = [run["metadata"]["name"] for run in runs if phase_of(run) not in ENDED]
    if len(going) >= RUNS_MAX:
        told = f"{len(going)} runs of this namespace have not ended, such as {going[0]}; end one first"
        raise attempt.forbidden(f"{told} (fairlead runbook runs)")


def _require_reads(desk: Desk, attempt: Attempt, procedure: Procedure, params: Mapping[str, Any]) -> None:
    """Forbidden if who creates the run may not read what its expressions see."""
    user = attempt.context.user
    places = places_of(facts_of(attempt.key.name, attempt.key.namespace, user.name), params, {})
    for read in procedure.reads:
        namespace, name, _ = where_of(read, places)
        require(
            desk.authorizer,
            Attributes(
                user=user,
                verb="get" if name else "list",
                group=read.kind.group,
                version=read.kind.version,
                plural=read.kind.plural,
                namespace=namespace,
                name=name,
            ),
        )
    if procedure.metrics:
        require(desk.authorizer, Attributes(user=user, verb="get", path="/metrics"))
    for about in procedure.decisions:
        key, kind = decided_about(about, places), about.kind
        if not key.namespace:  # as where decisions are read: only who sees all of them is shown these
            require(desk.authorizer, Attributes(user=user, verb="get", path=_DECISIONS))
        require(
            desk.authorizer,
            Attributes(
                user=user,
                verb="get",
                group=kind.group,
                version=kind.version,
                plural=kind.plural,
                namespace=key.namespace,
                name=key.name,
            ),
        )


def _stamp_change(desk: Desk, attempt: Attempt, old: Json, problems: Problems) -> None:
    new = attempt.new
    assert new is not None
    spec, before = new.setdefault("spec", {}), part(old, "spec")
    for field in _WRITTEN_HERE:
        if field not in spec and field in before:
            spec[field] = before[field]
    phase = phase_of(old)
    if spec.get("abort") != before.get("abort"):
        if before.get("abort"):
            problems.forbidden("spec.abort", "the run is being aborted; that cannot be taken back")
        elif phase in ENDED:
            problems.forbidden("spec.abort", f"the run has ended ({phase})")
        else:
            spec["abort"] = _signed(attempt, spec["abort"])
    if spec.get("answers") != before.get("answers"):
        _stamp_answers(desk, attempt, old, problems)


def _stamp_answers(desk: Desk, attempt: Attempt, old: Json, problems: Problems) -> None:
    assert attempt.new is not None
    spec, before = attempt.new["spec"], part(old, "spec")
    known = {each["step"]: each for each in before.get("answers") or ()}
    status, phase = part(old, "status"), phase_of(old)
    procedure = compile_procedure(before.get("procedure") or {}, desk.catalog, None, Problems())
    given: Sequence[Json] = spec.get("answers") or ()
    if missing := known.keys() - {each["step"] for each in given}:
        problems.forbidden(
            "spec.answers", f"the answer to {', '.join(sorted(missing))} may not be taken back"
        )
    found = []
    for index, each in enumerate(given):
        at, step = f"spec.answers[{index}]", each["step"]
        if step in known:
            if (each.get("values") or {}) != (known[step].get("values") or {}):
                problems.forbidden(at, f"{step} was answered by {known[step].get('by')} already")
            found.append(known[step])
        elif phase != ASKING or status.get("step") != step:
            asked = (
                f"it asks {status.get('step')}" if phase == ASKING else f"the run is {phase} and asks nothing"
            )
            problems.forbidden(f"{at}.step", f"{step} is not asked now: {asked}")
        else:
            check_values(fields_asked(procedure, step), each.get("values") or {}, f"{at}.values", problems)
            found.append(_signed(attempt, each))
    spec["answers"] = found


def _signed(attempt: Attempt, given: Json) -> Json:
    context = attempt.context
    return {**given, "by": context.user.name, "at": timestamp(context.now)}
