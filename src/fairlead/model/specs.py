"""A spec seen before: one record for each distinct spec, to which every layer attaches what follows from it.

Pods come by the thousand from one template, and each is written several times while its spec stays as it is, but for
the node that a binding adds at its end. Whatever follows from the bytes of a spec alone is therefore found once:

    spec = spec_of("pods", encoded)       the record of these bytes, the same one each time
    view = pod_spec(spec)                 what a layer derives from it, found when it is first asked for

A layer declares what it derives with `derived`, beside the code that needs it: the decoded view
(`model/pod_decoder.py`, for mirrors), problems and warnings (`model/kinds/pod/kind.py`), the tree that needs no more
defaults (`api/spec_cache.py`, for writes of a status). The record does not know them, nor do they know each other.

There is one table for the process, as for other pure functions that are remembered: what is derived depends on the
bytes and the kind, so servers, planes and simulated runs may share it. Specs used least recently go, with all that was
derived from them; one that is too long is not kept, and works all the same. `counts` says how often a spec was known.

What is remembered by more than the spec's bytes is no property of a spec, and is kept where the rest of its key lives:
what admission made of a spec in a namespace (`api/spec_cache.py`), what came of a whole create
(`api/repeated_creates.py`), the equivalence class of a pod (`schedule/facts.py`). ADR 0025 has the reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

#: bound: requests | specs that are remembered with what follows from them | found out anew
SPECS_MAX = 1024
#: bound: requests | length of a spec that is remembered | found out each time
SPEC_BYTES_MAX = 8 * 1024
_NODE = b',"nodeName":"'

T = TypeVar("T")
Means = TypeVarTuple("Means")


class KnownSpec:
    """Compared by identity. Never changed, but for what was derived from it."""

    __slots__ = ("encoded", "found", "resource")

    def __init__(self, resource: str, encoded: bytes) -> None:
        self.resource = resource
        self.encoded = encoded
        self.found: dict[object, Any] = {}  # by who found it; `derived` alone reads and writes it


def derived(find: Callable[[KnownSpec, *Means], T]) -> Callable[[KnownSpec, *Means], T]:
    """Makes a function of a spec one that is called once for each. What it gives is shared: nobody changes it. Further
    arguments are means of finding the answer, not a part of the question: they are the same for all specs of a kind."""

    @wraps(find)
    def known(spec: KnownSpec, /, *means: *Means) -> T:
        try:
            answer: T = spec.found[find]
        except KeyError:
            answer = spec.found[find] = find(spec, *means)
        return answer

    return known


_kept = lru_cache(maxsize=SPECS_MAX)(KnownSpec)


def spec_of(resource: str, encoded: bytes) -> KnownSpec:
    return _kept(resource, encoded) if len(encoded) <= SPEC_BYTES_MAX else KnownSpec(resource, encoded)


def stored_spec(resource: str, encoded: bytes) -> tuple[KnownSpec, bytes]:
    """The record of a stored spec without the node that was added at its end, and that node; b"" if there is none."""
    rest, found, node = encoded.rpartition(_NODE)
    if len(node) > 2 and found and node.count(b'"') == 1 and node[-2:] == b'"}' and b"\\" not in node:
        return spec_of(resource, rest + b"}"), node[:-2]
    return spec_of(resource, encoded), b""


class SpecCounts(NamedTuple):
    known: int
    unknown: int
    kept: int


def counts() -> SpecCounts:
    """How often a spec was known, since the process began, and how many are kept now."""
    info = _kept.cache_info()
    return SpecCounts(info.hits, info.misses, info.currsize)
