"""Hollow nodes: Nodes, heartbeats and pods that are told of, and nothing runs."""
