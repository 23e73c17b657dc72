"""`fairlead runbook`: `verb.py` says what can be asked for, and each other file does one part of it."""
