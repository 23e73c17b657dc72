"""API servers elsewhere: how one is reached, what it can do, and the plane beside it (`process.py`)."""
