"""Layer 2: arithmetic that must be right in two places, where it is planned and where it is committed."""
