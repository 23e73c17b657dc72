"""Admission policies at work: which are in force, which requests they are about, and what follows from them."""
