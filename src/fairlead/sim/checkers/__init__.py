"""What must always hold, one file per invariant. `contract.py` says what a checker is; `roster.py` lists them."""
