"""Cohorts as `fairlead queues` shows them: who borrows what from whom, what is left to lend, which pods wait for it.

By the same arithmetic and from the same objects as a binding is judged (`borrowing.py`). Called by
`runtime/server/extensions.py`; who may not see a namespace is told of it without its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fairlead.api.access.sight import Sight
from fairlead.api.borrowing import PLACEMENT, is_waiting, member_of, nodes_of, pods_refused
from fairlead.api.objects import tree
from fairlead.api.sound_reader import sound_entries
from fairlead.ledger.cohort import Cohort, CohortMember, borrowed, held_back, left_to_lend, list_loans
from fairlead.ledger.quota import format_like
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.selectors import LabelMatcher
from fairlead.model.views import Pod
from fairlead.store.contract import Reader

#: bound: plane | pods that wait for a quota and are named in one answer, for each cohort | the others are counted
WAITING_TOLD_MAX = 20
_ANOTHER = "another namespace"


class CohortsTold(NamedTuple):
    cohorts: list[Json]  # one for each cohort and set of nodes, by name
    left_out: list[str]  # quotas that are damaged in the store: what they lend and use is in none of these


def cohorts_told(read: Reader, sight: Sight) -> CohortsTold:
    # Those of one name by their nodes.
    found: dict[tuple[str, LabelMatcher | None], list[tuple[Key, Json]]] = {}
    refused: dict[str, list[Pod]] = {}  # by namespace
    for entry in sound_entries(read, PLACEMENT):
        quota = tree(entry)
        if not (cohort := str(quota["spec"].get("cohort") or "")):
            continue
        found.setdefault((cohort, nodes_of(quota)), []).append((entry.key, quota))
        if entry.key.namespace not in refused:
            refused[entry.key.namespace] = list(pods_refused(read, entry.key.namespace))
    by_name = sorted(found.items(), key=lambda each: each[0][0])
    told = (_cohort(read, name, quotas, refused, sight) for (name, _), quotas in by_name)
    damaged = sorted(key for key in read.damaged if key.resource == PLACEMENT)
    left_out = [_full(key) if sight.sees(PLACEMENT, key.namespace, key.name) else _ANOTHER for key in damaged]
    return CohortsTold([each for each in told if each is not None], left_out)


def _cohort(
    read: Reader,
    name: str,
    quotas: list[tuple[Key, Json]],
    refused: Mapping[str, Sequence[Pod]],
    sight: Sight,
) -> Json | None:
    shown = [key for key, _ in quotas if sight.sees(PLACEMENT, key.namespace, key.name)]
    if not shown:
        return None
    members = tuple(member_of(read, key, quota, refused[key.namespace]) for key, quota in quotas)
    names = frozenset(map(_full, shown))
    spelled: dict[str, str] = {}  # a quantity of each resource, for its unit
    for _, quota in quotas:
        for resource, text in (quota["spec"].get("hard") or {}).items():
            spelled.setdefault(resource, text)
    waiting = [each for key, _ in quotas for each in _waiting(refused[key.namespace], key)]
    seen = [each for each in waiting if sight.sees("pods", each["namespace"], each["pod"])]
    return {
        "cohort": name,
        "nodeSelector": quotas[0][1]["spec"].get("nodeSelector"),
        "resources": [_resource(name, each, spelled[each], members, names) for each in sorted(spelled)],
        "waiting": seen[:WAITING_TOLD_MAX],
        "waitingInAll": len(waiting),
    }


def _resource(
    cohort: str, resource: str, like: str, members: tuple[CohortMember, ...], shown: Iterable[str]
) -> Json:
    def called(member: str) -> str:
        return member if member in shown else _ANOTHER

    def spell(nano: int) -> str:
        return format_like(nano, like)

    shares = sorted(Cohort(cohort, "", members).shares(resource))
    places = {each.name: place for place, each in enumerate(shares)}
    left = left_to_lend(shares) - sum(map(held_back, shares))
    return {
        "resource": resource,
        "leftToLend": spell(max(0, left)),
        "members": [
            {
                "quota": called(each.name),
                "hard": spell(each.hard),
                "used": spell(each.used),
                "borrowed": spell(borrowed(each)),
                "mayBorrow": spell(each.may_borrow),
                "mayLend": spell(each.may_lend),
                "keptForOwnPods": spell(held_back(each)),
            }
            for each in shares
        ],
        "loans": [
            {
                "borrower": called(each.borrower),
                "borrowerMember": places[each.borrower],
                "lender": called(each.lender),
                "lenderMember": places[each.lender],
                "amount": spell(each.amount),
            }
            for each in list_loans(shares)
        ],
    }


def _waiting(refused: Iterable[Pod], quota: Key) -> Iterator[Json]:
    for pod in refused:
        if is_waiting(pod, quota.name):
            yield {"namespace": quota.namespace, "pod": pod.metadata.name, "quota": quota.name}


def _full(key: Key) -> str:
    return f"{key.namespace}/{key.name}"
