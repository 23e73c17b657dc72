"""A whole API over a store in memory, driven synchronously: no loop, no thread, no socket.

For tests of verbs and their semantics. `send` drives the same assembly and the same conversation as the server does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fairlead.api.access.authn import Tokens
from fairlead.api.access.users import MASTERS, User
from fairlead.api.assembly import Assembly, Remembered
from fairlead.api.conversation import stored_reply
from fairlead.api.plan import Context, Step, Watch
from fairlead.api.status import failure
from fairlead.core.errors import BadRequest
from fairlead.port.request import Reply, Request
from fairlead.sim.stepped import SteppedServer
from fairlead.store.contract import CommittedChange
from fairlead.store.machine import Store
from fairlead.store.memory import MemoryJournal

ADMIN = User("admin", groups=(MASTERS, "system:authenticated"))


class InProcess(SteppedServer):
    """One plane. Time stands still unless a test moves `now`."""

    def __init__(self, now: float = 1_800_000_000.0, remembered: Remembered | None = None) -> None:
        journal = MemoryJournal()
        store = Store(journal.recover(), journal)
        super().__init__(Assembly(store, Tokens({}), b"secret", remembered), journal, now)
        self.desk = self.assembly.desk
        self.custom, self.audit_policy = self.assembly.custom, self.assembly.audit_policy
        self.published: list[CommittedChange] = []
        self.observers: list[Callable[[tuple[CommittedChange, ...]], None]] = []  # each hears of every commit
        self._requests = 0
        for name in ("default", "kube-system"):
            self.post(
                "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )

    def publish(self, changes: tuple[CommittedChange, ...]) -> None:
        self.published.extend(changes)
        super().publish(changes)
        for observe in self.observers:
            observe(changes)

    # Requests

    def context(self, user: User = ADMIN) -> Context:
        self._requests += 1
        return Context(
            user=user,
            now=self.now,
            entropy=self._requests.to_bytes(16, "big"),
            request_id=str(self._requests),
            user_agent="test",
            source="127.0.0.1",
        )

    def plan(self, request: Request, user: User = ADMIN) -> Step:
        return self.api.plan(request, self.context(user))

    def send(self, request: Request, user: User = ADMIN) -> Reply | Watch:
        """The reply, errors included, as a client gets it."""
        ending = self.answer(request, self.context(user))
        return ending if isinstance(ending, Watch) else stored_reply(ending)

    def request(
        self,
        method: str,
        target: str,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        user: User = ADMIN,
    ) -> tuple[int, Any]:
        """(status, decoded body) of one HTTP-shaped request."""
        from fairlead.wire.routes import resource_request, split_target, with_premises

        path, query = split_target(target.encode())
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = resource_request(method.encode(), path, query, raw, content_type, accept)
        assert request is not None, f"{target} is no resource"
        try:
            reply = self.send(with_premises(request), user)
        except BadRequest as error:
            reply = failure(error)
        assert isinstance(reply, Reply), "a watch: use send"
        self.warnings = reply.warnings
        return reply.status, json.loads(reply.body)

    def get(self, target: str, **options: Any) -> tuple[int, Any]:
        return self.request("GET", target, **options)

    def post(self, target: str, body: Any, **options: Any) -> tuple[int, Any]:
        return self.request("POST", target, body, **options)

    def put(self, target: str, body: Any, **options: Any) -> tuple[int, Any]:
        return self.request("PUT", target, body, **options)

    def delete(self, target: str, body: Mapping[str, Any] | None = None, **options: Any) -> tuple[int, Any]:
        return self.request("DELETE", target, body, **options)

    def patch(self, target: str, body: Any, kind: str = "merge-patch", **options: Any) -> tuple[int, Any]:
        return self.request("PATCH", target, body, content_type=f"application/{kind}+json", **options)
