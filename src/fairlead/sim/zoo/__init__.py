"""Planted bugs, each known from a real control plane, that the simulator must find. One plant per file.

A plant takes the parts of a plane (`sim/parts.py`) and returns them with one (where one defence alone keeps the plane
safe: two) replaced by a faulty one. Run one with `fairlead sim run --plant fairlead.sim.zoo.FILE:plant`; those of the
scheduler in the world where room is short, `--world sched`.
"""

# In which world a plant is looked for, if it is not the standard one.
WORLD_OF = {
    "assumed_expires": "sched",
    "bind_timeout_read_as_failure": "sched",
    "preemption_thrash": "sched",
}
