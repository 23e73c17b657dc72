"""The driver's contact with one pod's supervisor: whether there is one, what it last said, what it is to answer.

    Pod (`pod.py`) ──send, extend, probe──> Contact ──> supervisor_link.py ──> supervisor
                   <──── changed, gone ─────

Reports are levels: `state` is the newest. An exec probe is answered exactly once, by the supervisor or, if that is lost
or late, here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.agent.contract import Failed, Probe, Probed
from fairlead.agent.drivers.directories import PodDirectory
from fairlead.agent.drivers.state import NO_DEADLINE
from fairlead.agent.drivers.supervisor_link import (
    ANSWER_SECONDS,
    SupervisorLink,
    find_supervisor,
    last_words,
    reap,
    start_supervisor,
)
from fairlead.agent.drivers.this_machine import ThisMachine

Json = dict[str, Any]
_EXEC_MARGIN_SECONDS = 5.0


class Contact:
    def __init__(
        self,
        machine: ThisMachine,
        uid: str,
        changed: Callable[[], None],
        gone: Callable[[SupervisorLink, bool], None],
    ) -> None:
        """`gone`: a connection ended, or (True) its supervisor does not answer."""
        self.state: Json | None = None
        self.link: SupervisorLink | None = None
        self.replaced = False  # by another agent, which now has the say
        self._machine = machine
        self._uid = uid
        self._changed = changed
        self._gone = gone
        self._reading: asyncio.Task[None] | None = None
        self._probes: dict[int, asyncio.TimerHandle] = {}
        self._unanswered_since: float | None = None

    async def find(self, directory: PodDirectory) -> bool:
        """The supervisor that runs already. False if there is none that answers."""
        link = await find_supervisor(directory)
        if link is None:
            return False
        state = await link.first_state()
        if state is None:
            await link.close()
            return False
        self._listen(link, state)
        return True

    async def start(self, directory: PodDirectory, deadline: float | None) -> None:
        """A new supervisor, without a deadline if that is None. OSError or ValueError if it does not come up, and then
        nothing of it is left."""
        link = await start_supervisor(directory, self._uid, self._machine.boot_instant(deadline))
        state = await link.first_state()
        if state is None:
            await link.close()
            await asyncio.to_thread(self._machine.strays, [self._uid])
            await asyncio.to_thread(reap, link.child)
            raise ValueError(f"the pod's supervisor did not start: {last_words(directory)}")
        self._listen(link, state)

    def send(self, message: Json) -> None:
        if self.link is not None:
            self.link.send(message)

    def extend(self, deadline: float) -> None:
        if self.link is None:
            return
        now = self._machine.clock()
        if self._unanswered_since is not None and now - self._unanswered_since > ANSWER_SECONDS:
            self._gone(self.link, True)
            return
        self.send({"do": "extend", "until": self._machine.boot_instant(deadline)})
        self._unanswered_since = self._unanswered_since if self._unanswered_since is not None else now

    def lift_deadline(self) -> None:
        """A supervisor of any version keeps the later of two deadlines: this one never comes."""
        self.send({"do": "extend", "until": NO_DEADLINE})

    def probe(self, probe: Probe) -> None:
        """Have an exec probe run."""
        self._probes[probe.number] = asyncio.get_running_loop().call_later(
            probe.timeout_seconds + _EXEC_MARGIN_SECONDS,
            lambda: self._probed(probe.number, False, "the pod's supervisor did not answer in time"),
        )
        argv = list((probe.action.get("exec") or {}).get("command") or ())
        if self.link is None:
            self._probed(probe.number, False, "the pod's supervisor is gone")
        elif not argv:
            self._probed(probe.number, False, "exec.command is empty: name the command to run")
        else:
            number, timeout = probe.number, probe.timeout_seconds
            self.send(
                {
                    "do": "exec",
                    "number": number,
                    "container": probe.container,
                    "argv": argv,
                    "timeout": timeout,
                }
            )

    async def end(self) -> None:
        """Have it kill everything and leave."""
        self.send({"do": "end"})
        if self._reading is not None:
            await asyncio.wait([self._reading], timeout=ANSWER_SECONDS)
        await self.let_go()

    async def let_go(self) -> None:
        """Close the connection. What the supervisor does is its own affair."""
        link, self.link = self.link, None
        if link is not None:
            link.shut()  # at once: where this is cancelled, nobody else knows of it
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None
        if link is not None:
            await link.close()
        for number in list(self._probes):
            self._probed(number, False, "the pod's supervisor is gone")

    def _listen(self, link: SupervisorLink, state: Json) -> None:
        self.link, self.state = link, state
        self._unanswered_since = None
        self._reading = asyncio.create_task(self._read(link), name=f"supervisor of {self._uid}")

    async def _read(self, link: SupervisorLink) -> None:
        while (message := await link.receive()) is not None:
            if "state" in message:
                self.state = message["state"]
                self._changed()
            elif "heard" in message:
                self._unanswered_since = None
                if message["heard"] >= NO_DEADLINE and self.state is not None:
                    self.state["deadline"] = message["heard"]
                    self._changed()
            elif "probed" in message:
                probed = message["probed"]
                self._probed(probed["number"], probed["good"], probed["message"])
            elif "failed" in message:
                failed = message["failed"]
                now = self._machine.clock()
                self._machine.tell(Failed(self._uid, failed["what"], failed["message"], now))
            elif "replaced" in message:
                self.replaced = True
        self._gone(link, False)

    def _probed(self, number: int, good: bool, message: str) -> None:
        timer = self._probes.pop(number, None)
        if timer is not None:
            timer.cancel()
            self._machine.tell(Probed(number, good, message, self._machine.clock()))
