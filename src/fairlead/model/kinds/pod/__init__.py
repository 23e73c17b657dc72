"""The kind Pod (`kind.py`): its defaults, rules, updates, columns, and templates of it in other kinds."""
