"""SchedulerOverrides: how workload controllers heed them (`heeding.py`), what their status says (`decider.py`).

Those who heed a pause by themselves: autoscalers (`autoscaling/pausing.py`), those who would roll back
(`rollout_outcome.py`), and those who release, evict or remove pods (`nodes/release.py`, `nodes/taint_eviction.py`,
`repair.py`).

Nothing here ends one: its readers ask `ledger/override.py` at each instant, and one that is over is no more.
"""
