"""Layer 2: the one contract between any client and any API, as data."""
