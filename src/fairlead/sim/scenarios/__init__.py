"""Scenarios that people write as YAML: from bytes to a Scenario, its faults, its seed, and what must come of it."""
