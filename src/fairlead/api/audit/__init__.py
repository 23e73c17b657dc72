"""Audit: what is kept of which request (`rules.py`), the policy in force, and the lines (`recording.py`)."""
