"""Counts what lives in a Python process, from a thread inside it, when asked. Put there by `longevity.py`.

A `sitecustomize` that imports this is on the path of the server and of its agents (supervisors of pods run isolated and
have none). Where FAIRLEAD_CENSUS names a directory, the thread looks there once a second for a file `ask` with a number
in it, and answers with `PID-NUMBER.json`:

    types        live objects by type, the most frequent ones, and those of `fairlead` with a hundred and more
    containers   entries of dictionaries, lists, sets and queues by where they hang: `Class.attribute`, `module.name`
    caches       entries of each `lru_cache`

Objects are collected first. `gc.freeze` does nothing here: what it froze could not be counted.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from array import array
from collections import Counter, OrderedDict, deque
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

_CONTAINERS = (dict, list, set, frozenset, tuple, deque, bytearray, array)
_DEEP = 3
_TYPES_TOLD = 40
_LEAST = 100


def entries(value: object, depth: int = _DEEP) -> int:
    """Of a container and those inside it. Objects in it that are no containers count as one, whatever they hold."""
    if not isinstance(value, _CONTAINERS):
        return 0
    count = len(value)
    if depth and not isinstance(value, bytearray | array):
        inner = list(value.values()) if isinstance(value, dict) else list(value)
        count += sum(entries(each, depth - 1) for each in inner if isinstance(each, _CONTAINERS))
    return count


def attributes(owner: object) -> dict[str, Any]:
    found = dict(getattr(owner, "__dict__", {}))
    for cls in type(owner).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            private = f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") else name
            if hasattr(owner, private):
                found[private] = getattr(owner, private)
    return found


def census() -> dict[str, dict[str, int]]:
    gc.collect()
    types: Counter[str] = Counter()
    containers: Counter[str] = Counter()
    caches: dict[str, int] = {}
    for each in gc.get_objects():
        cls = type(each)
        module = getattr(cls, "__module__", "")
        types[f"{module}.{cls.__qualname__}"] += 1
        if isinstance(each, _lru_cache_wrapper):
            caches[f"{each.__module__}.{each.__qualname__}"] = each.cache_info().currsize
        elif isinstance(module, str) and module.startswith("fairlead.") and not isinstance(each, type):
            if isinstance(each, OrderedDict | dict | list | set | deque):
                containers[cls.__qualname__] += entries(each)
            for name, value in attributes(each).items():
                if count := entries(value):
                    containers[f"{cls.__qualname__}.{name}"] += count
    for name, module in list(sys.modules.items()):
        if name.startswith("fairlead."):
            for key, value in list(vars(module).items()):
                if isinstance(value, dict | list | set | deque) and (count := entries(value)):
                    containers[f"{name}.{key}"] = count
    told = Counter({name: count for name, count in types.items() if count >= _LEAST and "fairlead." in name})
    return {
        "types": {**told, **dict(types.most_common(_TYPES_TOLD))},
        "containers": dict(containers),
        "caches": caches,
    }


def answer(directory: Path) -> None:
    answered = ""
    while True:
        time.sleep(1.0)
        try:
            asked = (directory / "ask").read_text()
        except OSError:
            continue
        if asked and asked != answered:
            answered = asked
            file = directory / f"{os.getpid()}-{asked}.json"
            try:
                told: dict[str, Any] = census()
            except Exception as error:  # noqa: BLE001  a process is not ended by being counted
                told = {"error": repr(error)}
            file.with_suffix(".new").write_text(json.dumps(told))
            file.with_suffix(".new").replace(file)


def begin() -> None:
    directory = os.environ.get("FAIRLEAD_CENSUS", "")
    if directory and {"up", "agent"} & set(sys.orig_argv):
        gc.freeze = lambda: None
        threading.Thread(target=answer, args=(Path(directory),), name="census", daemon=True).start()
