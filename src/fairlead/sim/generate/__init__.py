"""Worlds of one to five objects, each seed its own: what there is, who does what, and what goes wrong, all drawn."""
