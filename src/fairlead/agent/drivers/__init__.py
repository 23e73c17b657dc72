"""Drivers carry out what the agent decides. `process.py` runs pods as processes of this machine.

    agent ──> process.py ──> pod.py ──(socket)──> supervisor.py ──> the pod's processes
                               │                     │
                               └── directories.py    └── log_files.py, limits.py

The supervisor's half (`supervisor.py` and what it imports) uses the standard library alone and as little of it as
will do: one of them runs for every pod. Exempt from the rule that code below `wire/` is pure.
"""
