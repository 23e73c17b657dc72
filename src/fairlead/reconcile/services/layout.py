"""How wanted endpoints are fitted into the slices there are, with few writes. Pure; used by `endpoint_slices.py`.

    1  an endpoint that is still wanted stays in the slice that holds it
    2  new ones go into slices that are written anyhow, then into others with room
    3  what is left makes new slices
    4  a slice that is left empty is used for one of those, whatever its ports were, or goes

A Service without endpoints keeps one slice, empty, so that whoever watches sees that there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.model.service_views import EndpointSlice
from fairlead.model.views import Json
from fairlead.reconcile.services.endpoints import Groups, Ports

#: bound: plane | endpoints of one EndpointSlice | a further slice
SLICE_ENDPOINTS_MAX = 100


class Layout(NamedTuple):
    kept: list[tuple[EndpointSlice, Json]]  # and what it should hold
    new: list[Json]
    surplus: list[EndpointSlice]


def laid_out(wanted: Groups, present: Sequence[EndpointSlice]) -> Layout:
    kept: list[tuple[EndpointSlice, Json]] = []
    new: list[Json] = []
    free: list[EndpointSlice] = []
    by_ports: dict[Ports, list[EndpointSlice]] = {}
    for each in present:
        by_ports.setdefault(_ports_of(each), []).append(each)
    for ports in by_ports.keys() - wanted.keys():
        free.extend(by_ports[ports])
    for ports, endpoints in wanted.items():
        filled, left_over, empty = _fill(by_ports.get(ports, []), dict(endpoints))
        kept.extend((each, _content(ports, held)) for each, held in filled)
        for start in range(0, len(left_over), SLICE_ENDPOINTS_MAX):
            new.append(_content(ports, left_over[start : start + SLICE_ENDPOINTS_MAX]))
        free.extend(empty)
    if not kept and not new:
        new.append(_content((), []))
    free.sort(key=lambda each: each.metadata.name)
    reused = min(len(free), len(new))
    # An empty slice that is there stays the one it is.
    kept.extend(zip(free[:reused], new[:reused], strict=True))
    return Layout(kept, new[reused:], free[reused:])


def _fill(
    slices: Sequence[EndpointSlice], wanted: dict[str, Json]
) -> tuple[list[tuple[EndpointSlice, list[Json]]], list[Json], list[EndpointSlice]]:
    """What each slice holds, the endpoints there is no room for, and the slices that hold none. Takes from `wanted`."""
    filled = []
    for each in slices:
        uids = [(found.get("targetRef") or {}).get("uid", "") for found in each.endpoints]
        # One that two slices hold stays in the first.
        held = [found for uid in uids if (found := wanted.pop(uid, None)) is not None]
        spare = held[SLICE_ENDPOINTS_MAX:]
        wanted.update((found["targetRef"]["uid"], found) for found in spare)
        filled.append((each, held[:SLICE_ENDPOINTS_MAX]))
    left_over = list(wanted.values())
    # Those that are written anyhow first; of these, and of the others, the fullest: slices grow together.
    for _, held in sorted(
        filled, key=lambda pair: (list(pair[0].endpoints) == pair[1], -len(pair[1]), pair[0].metadata.name)
    ):
        room = SLICE_ENDPOINTS_MAX - len(held) if held else 0
        held.extend(left_over[:room])
        del left_over[:room]
    return (
        [pair for pair in filled if pair[1]],
        left_over,
        [each for each, held in filled if not held],
    )


def _ports_of(found: EndpointSlice) -> Ports:
    order = ("name", "protocol", "port", "appProtocol")
    return tuple(tuple((key, port[key]) for key in order if key in port) for port in found.ports)


def _content(ports: Ports, endpoints: Sequence[Json]) -> Json:
    return {"endpoints": list(endpoints), "ports": [dict(port) for port in ports]}
