"""What `make test` says at its end of the seeds it ran: found in the reports, so that it works over several workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

SAMPLE, PLANT = "sim-sample", "sim-plant"  # names of the properties that tests leave on their reports


def quota_line(reports: Iterable[Any]) -> str:
    """One line; "" if no seed of the sample was run."""
    found = [pair for report in reports for pair in getattr(report, "user_properties", ())]
    plants = len({value for name, value in found if name == PLANT})
    samples = [value for name, value in found if name == SAMPLE]
    if not samples:
        return ""
    told = samples[-1]
    return (
        f"{told['world']}: {told['seeds']} seeds, {told['failures']} failures, digest {told['digest']}, "
        f"{plants} plants found"
    )
