"""Why any controller decided as it did at a moment: found in the logs, run again on history, compared with another."""
