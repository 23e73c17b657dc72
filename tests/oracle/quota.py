"""What `make test` says at its end of the clusters on which oracle and code were compared: found in the reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

AGREED, MUTATION = (
    "oracle-agreed",
    "oracle-mutation",
)  # names of the properties that tests leave on their reports


def quota_line(reports: Iterable[Any]) -> str:
    """One line; "" if nothing was compared."""
    # A test leaves its properties on the reports of all that follows; only that of the test itself counts.
    ran = [report for report in reports if getattr(report, "when", "") == "call"]
    found = [pair for report in ran for pair in report.user_properties]
    agreed = [value for name, value in found if name == AGREED]
    if not agreed:
        return ""
    clusters, pods, wrong = (
        sum(each[key] for each in agreed) for key in ("clusters", "pods", "disagreements")
    )
    mutations = len({value for name, value in found if name == MUTATION})
    return (
        f"oracle: {clusters:,} clusters, {pods:,} pods placed or refused, {wrong} disagreements, "
        f"{mutations} mutations found"
    )
