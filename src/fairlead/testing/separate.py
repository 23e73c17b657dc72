"""A `fairlead serve` in a process of its own: what a deployment runs, with its disk and its signals.

Made by `planes.py` for `plane(process=True)`. A crash is SIGKILL.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fairlead.core.errors import OperatorError
from fairlead.runtime.credentials import identity, kubeconfig
from fairlead.runtime.server.settings import ServeSettings
from fairlead.testing import material

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.005


class SeparateProcess:
    def __init__(self, settings: ServeSettings, roles: Mapping[str, str]) -> None:
        self._settings = settings
        self._roles = roles
        self.secrets: Mapping[str, str] = {}  # tokens, by user

    @property
    def port(self) -> int:
        return self._settings.port

    def start(self) -> None:
        settings = self._settings
        told = settings.data_dir / "serve.out"
        with told.open("wb") as out:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=os.environ
            )
        try:
            self._await_serving(told)
        except BaseException:
            self.crash()
            raise
        known = identity.of(settings.data_dir)
        port = int(kubeconfig.load(known.kubeconfig).server.rpartition(":")[2])
        self._settings = replace(settings, port=port)
        if not self.secrets:
            self.secrets = material.admit(known, self._roles)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_STOP_SECONDS)

    def crash(self) -> None:
        self._process.kill()
        self._process.wait(_STOP_SECONDS)

    def _command(self) -> list[str]:
        settings = self._settings
        words = [sys.executable, "-m", "fairlead.cli.main", "serve", "--data-dir", str(settings.data_dir)]
        words += ["--port", str(settings.port), "--hollow-nodes", str(settings.hollow_nodes)]
        if not settings.publishes_authority:
            words = [*words, "--no-root-certificates"]
        return words if settings.controllers else [*words, "--without-controllers"]

    def _await_serving(self, told: Path) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while b"serving https://" not in (said := told.read_bytes()):
            if self._process.poll() is not None:
                raise OperatorError(f"fairlead serve did not start: {said.decode(errors='replace').strip()}")
            if time.monotonic() > deadline:
                raise OperatorError(f"fairlead serve did not start within {_START_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)
