"""Whether the mirrors show all that the former leader did, and asking how far the watches are while they do not.

Part of `plane.py`, which decides nothing before they do: what the former leader wrote and a mirror does not show yet
would be done twice. Mirrors of custom kinds hold up only what reads them, and are asked about for as long as they lag.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.control.health import Health
from fairlead.control.instructions import AskProgress
from fairlead.control.leadership import Leadership
from fairlead.control.sources import MirrorSources


class FenceProgress:
    def __init__(self, sources: MirrorSources, leadership: Callable[[], Leadership], health: Health) -> None:
        self._sources, self._leadership, self._health = sources, leadership, health
        self._held_up_by = ""  # a mirror that was behind the fence when they were last looked at
        self.ask_at = 0.0  # when to ask again how far the watches are; 0: nothing to ask

    def look(self, now: float) -> tuple[bool, tuple[AskProgress, ...]]:
        """Whether all mirrors that everything waits for have passed the fence. While the one that had not when they
        were last looked at still has not, and it is too early to ask again, the others are not looked at."""
        fence, held_up = self._leadership().fence_revision, self._sources.mirrors.get(self._held_up_by)
        if held_up is not None and now < self.ask_at and not held_up.passed(fence):
            return False, ()
        behind, custom = self._sources.behind(fence)
        self._held_up_by = behind[-1] if behind else ""
        return not behind, self._ask((*behind, *custom), fence, now)

    def look_at_custom(self, now: float) -> tuple[AskProgress, ...]:
        """Of a plane that leads: only mirrors of custom kinds can be behind."""
        fence = self._leadership().fence_revision
        return self._ask(self._sources.behind(fence)[1], fence, now)

    def _ask(self, behind: tuple[str, ...], fence: int, now: float) -> tuple[AskProgress, ...]:
        if not behind:
            self.ask_at = 0.0
        elif now >= self.ask_at:
            self.ask_at = now + self._health.settings.loop.ask_progress_seconds
            return tuple(AskProgress(name, fence) for name in behind)
        return ()
