"""The fixtures of Fairlead, for every test below this folder."""

pytest_plugins = ["fairlead.testing.pytest"]
