"""The queues of one priority level: requests of many flows, and which of them comes next.

Start-time fair queueing: every queue has a tag, which is how much its requests have taken so far; the queue with the
smallest tag is next, and pays for what it takes. A queue that was empty begins where the others are, so that nobody
saves up turns, and one that has waited goes before one that was just served. Pure; used by `machine.py`.

Requests that need no seat pass those that wait for one, but not those of their own queue. Who finds a queue full or
waits for too long is refused by `machine.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

from fairlead.api.flow.counts import FlowCounts
from fairlead.api.flow.in_force import Flow

T = TypeVar("T")
_KEPT_EMPTY = (
    64  # queues whose tags are kept though nothing waits in them, before those of no use are dropped
)


class WaitingRequest(Generic[T]):
    """A request that is not answered yet: it waits, or it is served."""

    __slots__ = ("counts", "flow", "in_turn", "level", "since", "ticket", "width")

    def __init__(
        self, ticket: T, flow: Flow, width: int, in_turn: bool, since: float, counts: FlowCounts
    ) -> None:
        self.counts = counts  # where it is counted
        self.ticket = ticket
        self.flow = flow
        self.width = width
        self.in_turn = in_turn
        self.since = since
        self.level = flow.level


class _Queue(Generic[T]):
    __slots__ = ("entry", "index", "tag", "waiting")

    def __init__(self, index: int, tag: float) -> None:
        self.index = index
        self.tag = tag
        self.waiting: deque[WaitingRequest[T]] = deque()
        self.entry = 0  # the number under which it is in a heap


class FairQueues(Generic[T]):
    __slots__ = ("_entries", "_heaps", "_queues", "_tag", "count", "seats")

    def __init__(self) -> None:
        self._queues: dict[int, _Queue[T]] = {}
        self._heaps: tuple[list[tuple[float, int, _Queue[T]]], ...] = ([], [])  # for a seat; in turn
        self._entries = 0
        self._tag = 0.0  # of the queue that was served last
        self.count = self.seats = 0  # of all that wait

    def length(self, index: int) -> int:
        queue = self._queues.get(index)
        return len(queue.waiting) if queue is not None else 0

    def shortest(self, hand: tuple[int, ...]) -> int:
        """Of these queues, the one in which the fewest wait."""
        queues = self._queues
        for index in hand:
            queue = queues.get(index)
            if queue is None or not queue.waiting:
                return index
        return min(hand, key=self.length)

    def add(self, index: int, request: WaitingRequest[T]) -> None:
        queue = self._queues.get(index)
        if queue is None:
            queue = self._queues[index] = _Queue(index, self._tag)
        queue.waiting.append(request)
        self.count += 1
        self.seats += request.width
        if len(queue.waiting) == 1:
            queue.tag = max(queue.tag, self._tag)
            self._enter(queue)

    def head(self, *, in_turn: bool) -> tuple[float, WaitingRequest[T]] | None:
        """Of those that need a seat, or of those that do not, the next one and its tag."""
        heap = self._heaps[in_turn]
        while heap:
            tag, entry, queue = heap[0]
            if queue.entry == entry:
                return tag, queue.waiting[0]
            heappop(heap)
        return None

    def take(self, *, in_turn: bool) -> WaitingRequest[T]:
        """The one that `head` gave."""
        tag, _, queue = heappop(self._heaps[in_turn])
        request = queue.waiting.popleft()
        self._tag = max(self._tag, tag)
        queue.tag = tag + request.width
        self._left(queue, request)
        return request

    def remove(self, request: WaitingRequest[T]) -> bool:
        """It waits no more, though it was not its turn. False if it did not wait here."""
        for queue in list(self._queues.values()):
            if request in queue.waiting:
                was_head = queue.waiting[0] is request
                queue.waiting.remove(request)
                if was_head:
                    self._left(queue, request)
                else:
                    self.count -= 1
                    self.seats -= request.width
                return True
        return False

    def __iter__(self) -> Iterator[WaitingRequest[T]]:
        for queue in self._queues.values():
            yield from queue.waiting

    def _enter(self, queue: _Queue[T]) -> None:
        self._entries += 1
        queue.entry = self._entries
        heappush(self._heaps[queue.waiting[0].in_turn], (queue.tag, self._entries, queue))

    def _left(self, queue: _Queue[T], request: WaitingRequest[T]) -> None:
        """The head of a queue is gone."""
        self.count -= 1
        self.seats -= request.width
        if queue.waiting:
            self._enter(queue)
            return
        queue.entry = 0
        if len(self._queues) > self.count + _KEPT_EMPTY:
            # A tag that the others have passed says nothing any more.
            for each in [
                each for each in self._queues.values() if not each.waiting and each.tag <= self._tag
            ]:
                del self._queues[each.index]
