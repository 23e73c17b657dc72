"""What worlds are made of, a file per subject. `roster.py` lists them."""
