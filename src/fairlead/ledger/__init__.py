"""Layer 2: arithmetic that must be right in two places, where it is planned and where it is committed.

Here are also the rules that all readers share: when a SchedulerOverride holds and when it has ended (`override.py`).
"""
