"""Grants that end by themselves: what they allow (`in_force.py`), who may ask, approve and review (`judging.py`)."""
