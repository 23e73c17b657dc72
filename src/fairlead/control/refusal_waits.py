"""Refusals that another object may lift: which keys wait for which objects, and whom a change of one wakes.

    refused, and objects are named     add: the key waits for them; not if one of them was eased since its turn began
    such an object eased               eased: everybody who waited for it, to be tried at once
    the key was tried and not refused  remove

An object eases when it may refuse less than before: a quota is raised, used less, or gone; whatever else is new,
changed or gone. Controllers add and remove (`refusals.py`), `plane.py` tells of changes; all through `health.py`.
Between wake-ups a waiting key is tried after a back-off (`decision/retry.py`), in case nobody named what matters.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping

from fairlead.core.quantity import parse
from fairlead.decision.decider import key_of
from fairlead.model.key import Key
from fairlead.model.views import Namespace, PlacementQuota, ResourceQuota, View
from fairlead.port.outcome import Refused

# Objects of which it is remembered that they eased, for turns that were under way just then.
#: bound: plane | objects remembered as having eased | refused keys retry
EASED_KEPT_MAX = 1024

Waiter = tuple[str, Key]  # controller, key

_IN_NAMESPACE = ("resourcequotas", "limitranges", "serviceaccounts", "placementquotas.fairlead.dev")
_IN_NONE = ("priorityclasses.scheduling.k8s.io",)
_NAMESPACES = "namespaces"
_QUOTA = re.compile("exceeded quota: ([a-z0-9.-]+)")
# As policies begin what they say, here and in Kubernetes, whatever status they refuse with.
_POLICY = re.compile(
    "(Validating|Mutating)AdmissionPolicy '([a-z0-9.-]+)' with binding '([a-z0-9.-]+)' denied"
)
_POLICIES = tuple(
    f"{sort}admissionpolic{ending}.admissionregistration.k8s.io"
    for sort in ("validating", "mutating")
    for ending in ("ies", "ybindings")
)
LIFTING = frozenset((*_IN_NAMESPACE, *_IN_NONE, _NAMESPACES, *_POLICIES))


def guess_lifters(namespace: str, refused: Refused) -> tuple[str, ...]:
    """What may lift a refusal of which the API does not say it, as Kubernetes does not. First what its words name: a
    quota, or the namespace that a create did not find. The rest wakes the key and gives no reason."""
    spaced = [f"{resource}/{namespace}/" for resource in _IN_NAMESPACE] if namespace else []
    whole = (*spaced, *(f"{resource}//" for resource in _IN_NONE))
    space = f"{_NAMESPACES}//{namespace}"
    if refused.status == 404:
        return (space, *whole)
    policy = policy_lifters(refused)
    if policy:
        return policy
    quota = _QUOTA.search(refused.message)
    named = (f"resourcequotas/{namespace}/{quota[1]}",) if quota is not None else ()
    return (*named, *whole, space)


def policy_lifters(refused: Refused) -> tuple[str, ...]:
    """The admission policy that refused, and its binding; nothing if none did."""
    found = _POLICY.search(refused.message)
    if found is None:
        return ()
    group, sort = "admissionregistration.k8s.io", found[1].lower()
    return (
        f"{sort}admissionpolicies.{group}//{found[2]}",
        f"{sort}admissionpolicybindings.{group}//{found[3]}",
    )


class Waits:
    def __init__(self) -> None:
        self.changes = 0  # how often something eased so far
        self._waiters: dict[str, dict[Waiter, None]] = {}  # by the address of what they wait for
        self._addresses: dict[Waiter, tuple[str, ...]] = {}
        self._eased: OrderedDict[str, int] = OrderedDict()  # address -> the last of the changes
        self._unknown_before = 0  # changes up to this one may be forgotten

    def __len__(self) -> int:
        return len(self._addresses)

    def add(self, waiter: Waiter, addresses: tuple[str, ...], since: int) -> bool:
        """`since`: `changes` when the turn began that was refused. False: try again, it has eased meanwhile."""
        self.remove(waiter)
        if addresses and since < self._unknown_before:
            return False
        if any(self._eased.get(address, 0) > since for address in addresses):
            return False
        self._addresses[waiter] = addresses
        for address in addresses:
            self._waiters.setdefault(address, {})[waiter] = None
        return True

    def remove(self, waiter: Waiter) -> None:
        for address in self._addresses.pop(waiter, ()):
            waiters = self._waiters[address]
            del waiters[waiter]
            if not waiters:
                del self._waiters[address]

    def eased(self, resource: str, before: View | None, after: View | None) -> list[Waiter]:
        """An object changed. Whom that wakes; they wait no more."""
        if resource not in LIFTING or not _eases(before, after):
            return []
        self.changes += 1
        newest = after if after is not None else before
        assert newest is not None
        key = key_of(resource, newest)
        woken: dict[Waiter, None] = {}
        for address in ("/".join(key), f"{key.resource}/{key.namespace}/"):
            woken.update(self._waiters.get(address, {}))
            self._eased[address] = self.changes
            self._eased.move_to_end(address)
        while len(self._eased) > EASED_KEPT_MAX:
            self._unknown_before = self._eased.popitem(last=False)[1]
        for waiter in woken:
            self.remove(waiter)
        return list(woken)


def _eases(before: View | None, after: View | None) -> bool:
    if isinstance(before, Namespace) and isinstance(after, Namespace):
        return before.metadata.uid != after.metadata.uid
    for quota in (ResourceQuota, PlacementQuota):
        if isinstance(after, quota):
            return isinstance(before, quota) and (
                before.spec != after.spec or _fell(before.status.used, after.status.used)
            )
    return True


def _fell(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    return any(
        name not in after or parse(after[name]).nano < parse(used).nano for name, used in before.items()
    )
