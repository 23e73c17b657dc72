"""Layer 1: the kinds. Descriptors, their field tables, validation, selectors and patches; pure data and functions."""
