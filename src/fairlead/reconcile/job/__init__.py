"""Pods that run to their end: Jobs (`decider.py`), and CronJobs, which start Jobs when a schedule is due."""
