"""Runs of runbooks: a controller that evaluates, takes one step a turn, and undoes what it did when it is aborted."""
