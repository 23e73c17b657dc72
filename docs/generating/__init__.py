"""The tables and drawings of `docs/generate.py`, by subject."""
