"""Services: `endpoint_slices.py` decides which addresses stand behind each, and how they are laid out."""
