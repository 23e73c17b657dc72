"""Runbooks as data: what may be said in them, what their expressions see, and how ${} is filled in."""
