"""The report on a captured incident: what happened, what held things up and what lifted it, what would have been."""
