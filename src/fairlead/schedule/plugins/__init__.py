"""One file per plugin; `registry.py` lists them."""
