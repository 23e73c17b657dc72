"""Tests of the Deciders, on a small world held in memory."""
