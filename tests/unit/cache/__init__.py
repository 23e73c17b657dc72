"""Tests of mirrors, their index, views and handlers."""
