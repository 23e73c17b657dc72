"""One pod on its node: what is known of it (`worker.py`), how it comes to run, how it ends, what is told of it."""
