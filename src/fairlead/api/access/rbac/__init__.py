"""Roles and bindings at work: what they allow, who has them, and what nobody may grant without having it."""
