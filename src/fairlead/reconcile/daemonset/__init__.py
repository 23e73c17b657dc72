"""DaemonSets: `decider.py` decides; which nodes are meant, whose pod is where, and the rolling update."""
