"""Quotas: does one more fit, and what is used afterwards. Arithmetic of ResourceQuota and of PlacementQuota.

The API charges in the transaction that creates or binds, against the quota's newest version, so that no two ever
share the last of it; controllers only have it counted again when something went (`recounted`). The scheduler asks
`find_exceeded` of the same numbers before it proposes. `used` is spelt as `hard` is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from fairlead.core.quantity import Quantity, parse
from fairlead.core.times import timestamp
from fairlead.ledger.cohort import Cohort
from fairlead.ledger.handover import holds_placement
from fairlead.ledger.pod_needs import Usage, add, exact, placed_usage
from fairlead.model.kind import Json
from fairlead.model.selectors import from_object
from fairlead.model.views import Pod

FULL = "Full"

LabelsOf = Callable[[str], Mapping[str, str] | None]  # of a node by name; None: there is no such node


# As `Exceeded.describe` and Kubernetes' own servers say it; of a cohort something follows that begins with a semicolon.
_TOLD = re.compile(r"exceeded quota: [^,]+, requested: ([^ ]+), used: ([^ ]+), limited: ([^ ;]+)(;?)")


class Exceeded(NamedTuple):
    """What does not fit, in the words of Kubernetes."""

    requested: str
    used: str
    limited: str
    cohort: str = ""  # what is borrowed and left, where it may borrow

    def describe(self, quota: str) -> str:
        told = f"requested: {self.requested}, used: {self.used}, limited: {self.limited}"
        return f"exceeded quota: {quota}, {told}" + (f"; {self.cohort}" if self.cohort else "")


def find_exceeded(
    hard: Mapping[str, str], used: Usage, asked: Usage, cohort: Cohort | None = None
) -> Exceeded | None:
    """What of a request is beyond the limits; what is not asked for is not judged. `cohort`: with whom it shares."""

    def room(name: str) -> int:
        return cohort.room(name) if cohort is not None else parse(hard[name]).nano - used.get(name, 0)

    beyond = [name for name in sorted(hard) if asked.get(name, 0) > 0 and asked[name] > room(name)]
    if not beyond:
        return None
    return Exceeded(
        ",".join(f"{name}={format_like(asked[name], hard[name])}" for name in beyond),
        ",".join(f"{name}={format_like(used.get(name, 0), hard[name])}" for name in beyond),
        ",".join(f"{name}={hard[name]}" for name in beyond),
        "; ".join(_tell(cohort, name, hard[name]) for name in beyond) if cohort is not None else "",
    )


def fits_in_place(message: str) -> bool:
    """Whether what this refusal is about would fit if something that uses as much went: not where it alone is beyond
    the limit, or others are. Where a cohort may lend, or no amounts are told, it might."""
    told = _TOLD.search(message)
    if told is None or told[4]:
        return True
    requested, used, limited = (_amounts(text) for text in told.group(1, 2, 3))
    return all(max(requested.get(name, 0), used.get(name, 0)) <= most for name, most in limited.items())


def _amounts(text: str) -> Usage:
    pairs = (each.partition("=") for each in text.rstrip(",").split(","))
    return {name: parse(amount).nano for name, _, amount in pairs}


def _tell(cohort: Cohort, resource: str, like: str) -> str:
    return f"{resource}: {cohort.describe(resource, lambda nano: format_like(nano, like))}"


def subtract(asked: Usage, given: Usage) -> Usage:
    """What is asked beyond what another gives; below 0 where that is more."""
    return {name: asked.get(name, 0) - given.get(name, 0) for name in {**asked, **given}}


def add_usage(hard: Mapping[str, str], used: Usage, asked: Usage) -> dict[str, str]:
    """`used` with one more, as a status says it: every resource that has a limit, and no other."""
    return {name: format_like(used.get(name, 0) + asked.get(name, 0), hard[name]) for name in sorted(hard)}


def format_like(nano: int, like: str) -> str:
    return str(Quantity(nano, parse(like).form))


# Placement quotas


def covers(selector: Json | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a PlacementQuota with this nodeSelector is about a node with these labels (None: unknown node). Without
    a selector it is about every node, known or not."""
    return not selector or (labels is not None and from_object(selector).matches(labels))


def used_of(quota: Json) -> Usage:
    return exact((quota.get("status") or {}).get("used") or {})


def sum_usage(selector: Json | None, pods: Iterable[Pod], labels_of: LabelsOf) -> Usage:
    """What bound, unfinished pods take of the nodes that a PlacementQuota is about."""
    total: Usage = {}
    known: dict[str, bool] = {}
    for pod in pods:
        node = pod.spec.node_name
        if not node or pod.finished or not holds_placement(pod):
            continue
        if selector:
            covered = known.get(node)
            if covered is None:
                covered = known[node] = covers(selector, labels_of(node))
            if not covered:
                continue
        add(total, placed_usage(pod.spec))
    return total


def with_usage(quota: Json, used: Usage, now: float) -> Json:
    """The PlacementQuota saying that so much is used of its present spec."""
    spec = quota.get("spec") or {}
    hard: dict[str, str] = spec.get("hard") or {}
    borrowed = list_borrowed(spec.get("cohort") or "", hard, used)
    before = quota.get("status") or {}
    status = {
        "used": add_usage(hard, used, {}),
        **({"borrowed": borrowed} if borrowed else {}),
        "observedGeneration": quota["metadata"].get("generation", 1),
        "conditions": _conditions(quota, hard, used, before.get("conditions") or [], now),
    }
    return {**quota, "status": status}


def list_borrowed(cohort: str, hard: Mapping[str, str], used: Usage) -> dict[str, str]:
    """What of a quota's use is beyond its own, as its status says it; empty if nothing is, or there is no cohort."""
    if not cohort:
        return {}
    beyond = {name: used.get(name, 0) - parse(hard[name]).nano for name in sorted(hard)}
    return {name: format_like(nano, hard[name]) for name, nano in beyond.items() if nano > 0}


def _conditions(
    quota: Json, hard: dict[str, str], used: Usage, conditions: list[Json], now: float
) -> list[Json]:
    """Nothing more fits where a limit is reached, and all that may be borrowed beside it; it can be passed when the
    limit is lowered or nodes change labels."""
    may_borrow = exact(quota["spec"].get("borrowingLimit") or {})
    limit = {name: parse(hard[name]).nano + may_borrow.get(name, 0) for name in sorted(hard)}
    full = [name for name in limit if used.get(name, 0) >= limit[name]]
    beyond = [name for name in full if used.get(name, 0) > limit[name]]
    held = "True" if full else "False"
    others = [each for each in conditions if each.get("type") != FULL]
    known = [each for each in conditions if each.get("type") == FULL and each.get("status") == held]
    condition = {
        "type": FULL,
        "status": held,
        "reason": "Exceeded" if beyond else "LimitReached" if full else "RoomLeft",
        "message": f"no room for {', '.join(full)}" if full else "",
        "lastTransitionTime": known[0]["lastTransitionTime"] if known else timestamp(now),
        "observedGeneration": quota["metadata"].get("generation", 1),
    }
    return [*others, condition]
