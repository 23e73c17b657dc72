"""Fairlead: a scheduler control plane that explains, can be intervened in, and replays."""

__version__ = "0.2.0"
