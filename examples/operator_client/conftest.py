"""The fixtures of Fairlead, for every test below this folder."""

from __future__ import annotations

import pytest

pytest_plugins = ["fairlead.testing.pytest"]


def pytest_configure(config: pytest.Config) -> None:
    # Clients leave connections to the garbage collector. Where warnings are errors, some later test would fail.
    config.addinivalue_line("filterwarnings", "ignore:unclosed:ResourceWarning")
