"""Roles and bindings at work: what they allow, who has them, and what nobody may grant without having it.

`grants.py` answers each request, by what a rule allows (`rules.py`) and whom a binding names (`subjects.py`).
"""
