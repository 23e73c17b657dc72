"""While a run lasts, the wall clock, system chance, threads, files and sockets are closed: touching one fails it.

Pure code gets time and chance with its events. `fenced()` replaces the usual doors to the outside by ones that raise
`Trespass`, and puts them back afterwards. Only for the process that runs the simulation, and only while it does.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_DOORS = (
    ("time", ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep")),
    ("os", ("urandom", "getrandom")),
    (
        "random",
        ("random", "randint", "randrange", "choice", "choices", "shuffle", "sample", "uniform", "seed"),
    ),
    ("uuid", ("uuid1", "uuid4")),
    ("secrets", ("token_bytes", "token_hex", "randbelow", "choice")),
    ("threading.Thread", ("start",)),
    ("socket", ("socket", "create_connection")),
    ("builtins", ("open",)),
)


class Trespass(BaseException):
    """Pure code reached outside. Not an Exception: nothing may catch it on the way."""


@contextmanager
def fenced() -> Iterator[None]:
    replaced: list[tuple[Any, str, Any]] = []
    # All first: importing one of them may well look at the clock.
    holders = [(_holder(place), place, names) for place, names in _DOORS]
    try:
        for holder, place, names in holders:
            for name in names:
                if hasattr(holder, name):
                    replaced.append((holder, name, getattr(holder, name)))
                    setattr(holder, name, _closed(f"{place}.{name}"))
        yield
    finally:
        for holder, name, original in reversed(replaced):
            setattr(holder, name, original)


def _holder(place: str) -> Any:
    if place == "builtins":
        return builtins
    module, _, attribute = place.partition(".")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def _closed(door: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise Trespass(f"{door} was used while a simulation ran: time and chance come with the event")

    return refuse
