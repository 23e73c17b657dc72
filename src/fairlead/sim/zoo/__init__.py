"""Planted bugs, each known from a real control plane, that the simulator must find. One plant per file.

A plant takes the parts of a plane (`sim/parts.py`) and returns them with one (where one defence alone keeps the plane
safe: two) replaced by a faulty one. Run one with `fairlead sim run --plant fairlead.sim.zoo.FILE:plant`.
"""
