"""Layer 4: where pods go. Read `contract.py` first, then `cycle.py`."""
