"""Whose fields are whose: where verbs meet `model/apply/`."""
