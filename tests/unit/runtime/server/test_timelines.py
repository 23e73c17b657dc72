"""What is asked of a timeline: a revision that is none is refused in words."""

from __future__ import annotations

from typing import Any, cast

import pytest

from fairlead.api.access.sight import EVERYTHING
from fairlead.core.errors import BadRequest, NotFound
from fairlead.runtime.server.timelines import timelines
from tests.unit.explain.timeline.world import World

PATH = "/fairlead/v1/timeline/deployments.apps/default/web"


@pytest.mark.parametrize(
    ("at", "refused"),
    [
        ("0", NotFound),
        ("99999999", NotFound),
        (str(2**63), BadRequest),
        ("9" * 30, BadRequest),
        ("soon", BadRequest),
    ],
)
def test_a_moment_that_is_none_is_refused(at: str, refused: type[Exception]) -> None:
    world = World()
    asked = timelines(world.sources, cast("Any", None))
    with pytest.raises(refused):
        asked(PATH, {"at": at}, world.api.context(), EVERYTHING)
