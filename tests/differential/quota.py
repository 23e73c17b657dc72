"""What `make test` says at its end of the tables that were run: found in the reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

ROW = "differential-row"  # name of the property that a test of a row leaves on its report


def quota_line(reports: Iterable[Any]) -> str:
    """One line; "" if no row was run."""
    ran = [each for each in reports if getattr(each, "when", "") == "call"]
    rows = [value for report in ran for name, value in report.user_properties if name == ROW]
    return f"differential: {len(rows)} rows" if rows else ""
