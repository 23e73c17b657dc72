"""A plugin of pytest for one run over a mutant: which tests failed, where and with which error, as JSON.

Loaded by `runner.py` with `-p`; the file is named by FAIRLEAD_MUTANT_WITNESS. It also tells which `fairlead` was imported,
so that nobody takes the sources for the copy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.mutant import UNPACKED

VARIABLE = "FAIRLEAD_MUTANT_WITNESS"


class Witness:
    def __init__(self) -> None:
        self.failures: list[dict[str, str]] = []
        self.passed: list[str] = []
        self.not_collected: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed and call.excinfo is not None:
            error = _name(call.excinfo.value)
            self.failures.append({"test": item.nodeid, "when": report.when or "", "error": error})
        elif report.passed and report.when == "call":
            self.passed.append(item.nodeid)
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.not_collected.append(f"{report.nodeid}: {report.longreprtext[-300:]}")

    def pytest_sessionfinish(self) -> None:
        import fairlead

        told = {
            "imported": str(Path(fairlead.__file__ or "").parent),
            "failures": self.failures,
            "passed": self.passed,
            "not_collected": self.not_collected,
        }
        Path(os.environ[VARIABLE]).write_text(json.dumps(told))


def _name(error: BaseException) -> str:
    """`(one,) = found` asserts how many were found."""
    unpacked = isinstance(error, ValueError) and "values to unpack" in str(error)
    return UNPACKED if unpacked else type(error).__name__


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Witness(), "mutant-witness")
