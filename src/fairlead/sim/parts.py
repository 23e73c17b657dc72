"""What the simulated plane is made of, as factories by name, so that a plant can replace one of them.

    deciders   () -> tuple of Deciders
    plane      (identity, deciders) -> Plane
    nodes      (prefix) -> the Decider that plays the nodes with this prefix

A plant is a function that takes this dict and returns it changed; `load_plant` finds one by its import path.
Production code carries no switch for any of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from fairlead.agent.hollow import HollowDecider
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.core.errors import UsageError

Parts = dict[str, Callable[..., Any]]
Plant = Callable[[Parts], Parts]


def default_parts() -> Parts:
    return {"deciders": default_deciders, "plane": Plane, "nodes": HollowDecider}


def load_plant(path: str) -> Plant:
    """`PACKAGE.MODULE:NAME`"""
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise UsageError(f'"{path}" is no plant: name a function as PACKAGE.MODULE:NAME')
    try:
        found: Plant = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f'the plant "{path}" cannot be loaded: {error}') from None
    return found
