"""Which Services of a namespace select these labels, without looking at each. Used by `endpoint_slices.py`.

A memo of a pure function: for as long as the view hands out the same Services of a namespace, they are found by one of
the pairs in their selectors. A selector is told apart best by a pair that few share; the one that the fewest Services
of the namespace have is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fairlead.decision.contract import Reading
from fairlead.model.service_views import SERVICES, Service

# More namespaces than this at once: all are read anew when they are needed.
#: bound: plane | namespaces whose selectors of Services are kept | read anew
SELECTORS_KEPT_MAX = 4096

Pair = tuple[str, str]


class _Known(NamedTuple):
    services: Sequence[Service]
    by_pair: dict[Pair, list[Service]]


class ServiceSelectors:
    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def matching(self, view: Reading, namespace: str, labels: Mapping[str, str]) -> Iterable[str]:
        """Names of Services."""
        services = view.list(SERVICES, namespace)
        known = self._known.get(namespace)
        if known is None or known.services is not services:
            if len(self._known) >= SELECTORS_KEPT_MAX:
                self._known.clear()
            known = self._known[namespace] = _Known(services, _by_pair(services))
        by_pair, items = known.by_pair, labels.items()
        for pair in items:
            for service in by_pair.get(pair, ()):
                if service.spec.selector.items() <= items:
                    yield service.metadata.name


def _by_pair(services: Sequence[Service]) -> dict[Pair, list[Service]]:
    shared = Counter(pair for service in services for pair in service.spec.selector.items())
    found: dict[Pair, list[Service]] = {}
    for service in services:
        pairs = service.spec.selector.items()
        if pairs:
            found.setdefault(min(pairs, key=lambda pair: (shared[pair], pair)), []).append(service)
    return found
