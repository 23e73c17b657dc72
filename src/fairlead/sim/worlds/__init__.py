"""Worlds: each file fixes one scenario, so that figures and seeds keep their meaning."""
