"""Why: recorded attempts to place a pod, run again on history; why not there; where something would go.

What the pod's own condition says of its wait is written as it is decided, in the words of `schedule/messages.py`.
"""
