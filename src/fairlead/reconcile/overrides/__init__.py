"""SchedulerOverrides: how workload controllers heed them (`heeding.py`), what their status says (`decider.py`)."""
