"""What happened to one object, its owners and what it owns, and why: one line per thing that mattered."""
