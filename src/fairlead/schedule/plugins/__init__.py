"""One file per plugin; `schedule/registry.py` lists them."""
