"""Own writes that the store has lost: nobody waits to see them."""

from __future__ import annotations

import pytest

from fairlead.cache.events import Expired, Listed
from fairlead.control.own_writes import Write
from fairlead.control.roster import default_deciders
from fairlead.control.sources import MirrorSources
from fairlead.port.driving import Started, Woke
from tests.unit.cache.objects import entry


@pytest.mark.parametrize("creates", [False, True])
def test_a_write_counts_as_seen_when_a_later_list_shows_that_it_was_lost(creates: bool) -> None:
    sources = MirrorSources(default_deciders(), None)
    mirror = sources.mirrors["pods"]
    own = Write(entry("a", 9).key, 9, creates)
    for begun in (Started(1.0), Listed(8, (entry("a", 4),), 1.0)):
        mirror.handle(begun)
    assert not sources.has_seen(own)
    for event in (Expired(2.0), Woke(1000.0), Listed(20, (entry("a", 4),), 1000.0)):
        mirror.handle(event)
    assert sources.has_seen(own)
