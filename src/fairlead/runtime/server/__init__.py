"""The process of a server (`process.py`): store, API, plane and listener driven on one loop, and local nodes."""
