"""While a run lasts, the wall clock, system chance, threads, files and sockets are closed: touching one fails it.

Pure code gets time and chance with its events. `raise_fence()` replaces the usual doors to the outside by ones that
raise `Trespass`, in the modules that own them and wherever our code (or a plant's) has imported them by name, and puts
them back afterwards. Only for the thread that runs the simulation, and only while it does: a server in another thread
of the same process (`fairlead.testing`) goes on as before. A thread cannot be started from inside, so that is no way
out.
"""

from __future__ import annotations

import datetime
import importlib
import sys
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

_CHANCE = "random randint randrange randbytes getrandbits choice choices shuffle sample uniform gauss seed"
_DOORS = {
    "time": "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time sleep localtime gmtime",
    "os": "urandom getrandom open fork system popen listdir scandir mkdir remove rename",
    "random": _CHANCE,
    "uuid": "uuid1 uuid4",
    "secrets": "token_bytes token_hex token_urlsafe randbelow randbits choice",
    "threading.Thread": "start",
    "_thread": "start_new_thread",
    "subprocess": "Popen",
    "socket": "socket create_connection",
    "builtins": "open input",
    "io": "open",
}


class Trespass(BaseException):
    """Pure code reached outside. Not an Exception: nothing may catch it on the way."""


_Calendar = datetime.datetime


class _StoppedCalendar(_Calendar):
    """Reckons with moments as the real one does, but does not know which one it is."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _calendar("now", tz)

    @classmethod
    def utcnow(cls) -> Any:
        return _calendar("utcnow")

    @classmethod
    def today(cls) -> Any:
        return _calendar("today")


def _calendar(name: str, *arguments: Any) -> Any:
    return _closed(f"datetime.datetime.{name}", getattr(_Calendar, name))(*arguments)


_inside = [0]  # the thread that simulates


@contextmanager
def raise_fence() -> Iterator[None]:
    _inside[0] = get_ident()
    closed: list[tuple[Any, str, Any, Any]] = []
    for holder, name, door in _doors():
        original = vars(holder)[name]
        closed.append((holder, name, original, _closed(door, original)))
    closed.append((datetime, "datetime", datetime.datetime, _StoppedCalendar))
    closed += _imported_by_name({id(original): (original, instead) for _, _, original, instead in closed})
    try:
        for holder, name, _, instead in closed:
            setattr(holder, name, instead)
        yield
    finally:
        for holder, name, original, _ in reversed(closed):
            setattr(holder, name, original)


def _imported_by_name(doors: dict[int, tuple[Any, Any]]) -> list[tuple[Any, str, Any, Any]]:
    """`from time import time` keeps the door itself, whatever `time` holds later."""
    places = _places(len(sys.modules), tuple(doors))
    return [(module, name, *doors[door]) for module, name, door in places if id(vars(module)[name]) == door]


@lru_cache(maxsize=1)  # modules are looked through again when there are more of them
def _places(modules: int, doors: tuple[int, ...]) -> list[tuple[ModuleType, str, int]]:
    wanted = set(doors)
    return [
        (module, name, id(value))
        for module in list(sys.modules.values())
        if _is_ours(module) and not wanted.isdisjoint(map(id, list(vars(module).values())))
        for name, value in list(vars(module).items())
        if id(value) in wanted
    ]


def _is_ours(module: ModuleType) -> bool:
    """Neither Python's nor a library's, and not this file."""
    return _is_of_us(module.__name__, getattr(module, "__file__", None))


@cache  # asked of every module there is, before every run
def _is_of_us(name: str, file: str | None) -> bool:
    return bool(
        file
        and "site-packages" not in file
        and name != __name__
        and name.partition(".")[0] not in sys.stdlib_module_names
    )


@cache  # before every run
def _doors() -> list[tuple[Any, str, str]]:
    """Where each door is, its name there, and how it is called."""
    # All first: importing one of them may well look at the clock.
    holders = [(_holder(place), place, names.split()) for place, names in _DOORS.items()]
    return [
        (holder, name, f"{place}.{name}")
        for holder, place, names in holders
        for name in names
        if hasattr(holder, name)
    ]


def _holder(place: str) -> Any:
    module, _, attribute = place.partition(".")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


@lru_cache(maxsize=256)
def _closed(door: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        if get_ident() != _inside[0]:
            return original(*arguments, **options)
        raise Trespass(f"{door} was used while a simulation ran: time and chance come with the event")

    return refuse
