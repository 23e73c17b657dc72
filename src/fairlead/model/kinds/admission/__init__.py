"""Admission policies: those that judge, those that change, their bindings, and what their expressions may say."""
