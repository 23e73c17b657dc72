"""Layer 4: one node's half. What runs on nodes, and what only pretends to."""
