"""Roles and bindings: what they allow, in tables and against a plain reference."""
