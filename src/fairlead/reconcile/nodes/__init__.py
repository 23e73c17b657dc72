"""Nodes and what their silence leads to: health and its marks, release and return of pods, eviction by taint."""
