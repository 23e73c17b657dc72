"""Brakes that people put on."""
