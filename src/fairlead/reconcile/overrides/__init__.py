"""SchedulerOverrides: how workload controllers heed them (`heeding.py`), what their status says (`decider.py`).

Nothing here ends one: its readers ask `ledger/override.py` at each instant, and one that is over is no more.
"""
