"""Numbers for Prometheus: what each process counts of itself, and a sentence about each (`contract.py`)."""
