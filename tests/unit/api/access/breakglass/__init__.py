"""Grants that end by themselves."""
