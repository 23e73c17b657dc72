"""An agent that is killed again and again is back before the pods that live by its lease have to end."""

from __future__ import annotations

import pytest

from fairlead.runtime.server.local_nodes import RestartBackoff

START_SECONDS = 5.0  # of an agent on a busy machine, until its first renewal
FENCE_MARGIN_SECONDS = 2.0


@pytest.mark.parametrize(("lease", "renew"), [(40, 10.0), (20, 5.0), (300, 60.0)])
def test_no_rest_outlasts_the_lease(lease: int, renew: float) -> None:
    backoff = RestartBackoff(lease, renew)
    rests = [backoff.after(25.0) for _ in range(30)]
    assert rests == sorted(rests)
    assert rests[0] < 1 < rests[-1]
    assert renew + rests[-1] + START_SECONDS < lease - FENCE_MARGIN_SECONDS


def test_one_that_ran_long_begins_anew() -> None:
    backoff = RestartBackoff(40, 10.0)
    first = [backoff.after(1.0) for _ in range(5)]
    assert backoff.after(100.0) == first[0] < first[-1]
