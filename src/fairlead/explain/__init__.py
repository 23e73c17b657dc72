"""Why: recorded attempts to place a pod, run again on history; why not there; where something would go."""
