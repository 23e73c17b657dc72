"""SchedulerOverrides as they come in: `steps.py` has the steps of admission, and each other file judges one thing."""
