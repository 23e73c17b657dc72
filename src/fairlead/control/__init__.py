"""Layer 5: the turn. Keys are popped, decided, and their effects carried out. Read `turn.py` first."""
