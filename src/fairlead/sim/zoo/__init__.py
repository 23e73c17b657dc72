"""Planted bugs, most known from a real control plane, that the simulator must find. One plant per file.

A plant takes the parts of a plane (`sim/parts.py`) and returns them with one (where one defence alone keeps the plane
safe: more) replaced by a faulty one. `roster.py` has a row for each. Run one with
`fairlead sim run --plant fairlead.sim.zoo.FILE:plant --world WORLD`.
"""

import pkgutil

from fairlead.sim.zoo.roster import SPECIMENS

# In which world a plant is looked for.
WORLD_OF = {each.name: each.world for each in SPECIMENS}


def plant_names() -> list[str]:
    """Of every file here that has a plant."""
    return sorted({module.name for module in pkgutil.iter_modules(__path__)} - {"roster", "wrapping"})
