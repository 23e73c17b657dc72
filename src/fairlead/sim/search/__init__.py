"""Searches: which runs of a world to try, one mode per file. `contract.py` says what a search is, `roster.py` has
all."""
