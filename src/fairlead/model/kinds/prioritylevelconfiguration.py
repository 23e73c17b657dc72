"""PriorityLevelConfiguration (flowcontrol.apiserver.k8s.io/v1): a share of the server, and who waits for it.

Read by `model/catalog.py`. What a level means is in `api/flow/`; the two that every server has, whatever became of
their objects, are `exempt` and `catch-all`, and what these say is fixed.
"""

from __future__ import annotations

from math import comb

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import fill, part

GROUP, VERSION = "flowcontrol.apiserver.k8s.io", "v1"
EXEMPT_LEVEL, CATCH_ALL_LEVEL = "exempt", "catch-all"
EXEMPT, LIMITED = "Exempt", "Limited"
QUEUE, REJECT = "Queue", "Reject"
_SHARES, _QUEUES, _HAND, _LENGTH = 30, 64, 8, 50
#: bound: objects | queues of a priority level | 422
QUEUES_MAX = 10_000_000
# As Kubernetes: a hand must be small enough that the number which deals it has 60 bits.
_DEALT_BITS = 60

CATCH_ALL_SPEC: Json = {
    "type": LIMITED,
    "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": REJECT}},
}
EXEMPT_SPEC: Json = {"type": EXEMPT, "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}


def _defaults(obj: Json) -> None:
    spec = part(obj, "spec")
    if spec.get("type") == EXEMPT:
        exempt = spec.setdefault("exempt", {})
        fill(exempt, "nominalConcurrencyShares", 0)
        fill(exempt, "lendablePercent", 0)
    limited = spec.get("limited")
    if not isinstance(limited, dict):
        return
    fill(limited, "nominalConcurrencyShares", _SHARES)
    fill(limited, "lendablePercent", 0)
    queuing = part(limited, "limitResponse").get("queuing")
    if isinstance(queuing, dict):
        for field, number in (("queues", _QUEUES), ("handSize", _HAND), ("queueLengthLimit", _LENGTH)):
            queuing[field] = queuing.get(field) or number  # 0 is what clients send for an unset one


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    kind = spec.get("type")
    if kind == EXEMPT:
        if spec.get("limited") is not None:
            problems.forbidden("spec.limited", "must be nil if the type is not Limited")
        _check_percent(part(spec, "exempt"), "lendablePercent", "spec.exempt", problems)
        _check_shares(part(spec, "exempt"), "spec.exempt", problems)
    elif kind == LIMITED:
        if spec.get("exempt") is not None:
            problems.forbidden("spec.exempt", "must be nil if the type is Limited")
        if spec.get("limited") is None:
            problems.required("spec.limited", "must not be empty when type is Limited")
        else:
            _check_limited(spec["limited"], problems)
    else:
        problems.unsupported("spec.type", kind or "", (EXEMPT, LIMITED))
    _check_fixed(obj, spec, problems)


def _check_fixed(obj: Json, spec: Json, problems: Problems) -> None:
    """What the two levels say that every server has. Shares and what is lent may be changed of `exempt`."""
    name = part(obj, "metadata").get("name") or ""
    if name == EXEMPT_LEVEL:
        if spec.get("type") != EXEMPT:
            problems.invalid("spec.type", spec.get("type"), "type must be Exempt for the level named exempt")
    elif spec.get("type") == EXEMPT:
        problems.invalid("spec.type", EXEMPT, "only the level named exempt may be Exempt")
    if name == CATCH_ALL_LEVEL and spec != CATCH_ALL_SPEC:
        problems.invalid("spec", spec, f"spec of {CATCH_ALL_LEVEL} must equal the fixed value")


def _check_limited(limited: Json, problems: Problems) -> None:
    at = "spec.limited"
    _check_shares(limited, at, problems)
    _check_percent(limited, "lendablePercent", at, problems)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        detail = "if specified, must be a non-negative integer"
        problems.invalid(f"{at}.borrowingLimitPercent", borrowed, detail)
    response = part(limited, "limitResponse")
    queuing = response.get("queuing")
    match response.get("type"):
        case "Queue":
            if queuing is None:
                detail = "must not be empty if limitResponse.type is Queue"
                problems.required(f"{at}.limitResponse.queuing", detail)
            else:
                _check_queuing(queuing, f"{at}.limitResponse.queuing", problems)
        case "Reject":
            if queuing is not None:
                detail = "must be nil if limitResponse.type is not Queue"
                problems.forbidden(f"{at}.limitResponse.queuing", detail)
        case other:
            problems.unsupported(f"{at}.limitResponse.type", other or "", (QUEUE, REJECT))


def _check_shares(given: Json, at: str, problems: Problems) -> None:
    shares = given.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        problems.invalid(f"{at}.nominalConcurrencyShares", shares, "must be a non-negative integer")


def _check_percent(given: Json, field: str, at: str, problems: Problems) -> None:
    value = given.get(field)
    if value is not None and not 0 <= value <= 100:
        problems.invalid(f"{at}.{field}", value, "must be between 0 and 100, inclusive")


def _check_queuing(queuing: Json, at: str, problems: Problems) -> None:
    queues, hand = queuing.get("queues") or 0, queuing.get("handSize") or 0
    if (queuing.get("queueLengthLimit") or 0) <= 0:
        detail = "must be positive"
        problems.invalid(f"{at}.queueLengthLimit", queuing.get("queueLengthLimit") or 0, detail)
    if queues <= 0 or hand <= 0:
        for field, value in (("queues", queues), ("handSize", hand)):
            if value <= 0:
                problems.invalid(f"{at}.{field}", value, "must be positive")
    elif queues > QUEUES_MAX:
        problems.invalid(f"{at}.queues", queues, f"must not be greater than {QUEUES_MAX}")
    elif hand > queues:
        detail = f"should not be greater than queues ({queues})"
        problems.invalid(f"{at}.handSize", hand, detail)
    elif hand > _DEALT_BITS or comb(queues, hand) >= 2**_DEALT_BITS:
        detail = f"a hand of {hand} out of {queues} queues cannot be dealt from 60 bits; make it smaller"
        problems.invalid(f"{at}.handSize", hand, detail)


def _limited(obj: Json) -> Json:
    return part(part(obj, "spec"), "limited")


def _shares(obj: Json, now: float) -> Cell:
    shares = (_limited(obj) or part(part(obj, "spec"), "exempt")).get("nominalConcurrencyShares")
    return "<none>" if shares is None else str(shares)


def _queuing(field: str) -> Column:
    def cell(obj: Json, now: float) -> Cell:
        value = part(part(_limited(obj), "limitResponse"), "queuing").get(field)
        return "<none>" if value is None else str(value)

    return Column(field[:1].upper() + field[1:], cell)


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="PriorityLevelConfiguration",
    plural="prioritylevelconfigurations",
    namespaced=False,
    schema="PriorityLevelConfiguration",
    subresources=("status",),
    columns=(
        Column("Type", lambda obj, now: str(part(obj, "spec").get("type") or "")),
        Column("NominalConcurrencyShares", _shares),
        _queuing("queues"),
        _queuing("handSize"),
        _queuing("queueLengthLimit"),
        AGE,
    ),
    defaults=_defaults,
    validate=_validate,
)
