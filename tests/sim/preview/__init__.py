"""Tests of looking ahead: worlds made of a plane's state."""
