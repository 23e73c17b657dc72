"""Deployments: `decider.py` decides, by the history, arithmetic, caution and steps of a rollout beside it.

What follows a rollout that failed (a retry, a roll-back) is a controller of its own: `reconcile/rollout_outcome.py`.
"""
