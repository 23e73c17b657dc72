"""Runbooks and their runs in the API: what is refused, what is stamped, and with whose rights a run acts."""
