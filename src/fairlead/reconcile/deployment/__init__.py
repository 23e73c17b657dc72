"""Deployments: `decider.py` decides, by the history, arithmetic, caution and steps of a rollout beside it."""
