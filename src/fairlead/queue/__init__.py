"""Layer 2: the work queue. What waits, in which order, how long, and how often it may be tried."""
