"""Which Kubernetes a server speaks like, as `/version` and the published schemas say it. Called by `mounting.py`."""

from __future__ import annotations

import sys

from fairlead import __version__

KUBERNETES_VERSION = "1.32"


def git_version() -> str:
    return f"v{KUBERNETES_VERSION}.0+fairlead-{__version__}"


def version_document() -> dict[str, str]:
    major, minor = KUBERNETES_VERSION.split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": git_version(),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": sys.platform,
    }
