"""Brakes that people put on: a switch that refuses new work, and freezes. Which are in force, and what they refuse."""
