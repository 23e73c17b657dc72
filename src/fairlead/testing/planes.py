"""`plane()`: a running API as a context manager, and the Plane it gives.

The one thing that tests import. A Plane is a backend (`in_process.py` or `separate.py`), the ways in for its users
(`access.py`), and what it starts with (`seeding.py`).
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fairlead.core.errors import UsageError
from fairlead.runtime.credentials import identity, kubeconfig
from fairlead.runtime.credentials.token_file import ADMIN_NAME, check_name
from fairlead.runtime.server.settings import ServeSettings
from fairlead.testing import seeding
from fairlead.testing.access import Access, Answer

if TYPE_CHECKING:
    from fairlead.testing.in_process import InProcess
    from fairlead.testing.unkind import Unkindness

_LISTEN = "127.0.0.1"
_ROLES = ("admin", "viewer", "node", "user")
_PORT_LAST = 65_535


class ServerBackend(Protocol):
    """What runs the server. `secrets`: tokens of all users, the administrator's too."""

    @property
    def port(self) -> int: ...

    @property
    def secrets(self) -> Mapping[str, str]: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def crash(self) -> None: ...


class Plane:
    """A running API. What it says of itself stays true over `restart` and `crash`: address, tokens, objects."""

    def __init__(self, backend: ServerBackend, data_dir: Path) -> None:
        self._backend = backend
        self._namespaces = 0
        backend.start()
        known = identity.of(data_dir)
        self.url = kubeconfig.server_url(_LISTEN, backend.port)
        self.ca = known.ca_certificate
        self.kubeconfig = known.kubeconfig
        self.token = backend.secrets[ADMIN_NAME]
        self._users = {name: self._admitted(name, token) for name, token in backend.secrets.items()}

    def _admitted(self, name: str, token: str) -> Access:
        path = self.kubeconfig
        if name != ADMIN_NAME:
            path = path.with_name(f"kubeconfig-{name}")
            kubeconfig.write(path, self.url, self.ca.read_text(), name, token)
        return Access(name, self.url, self.ca, token, path)

    # Ways in

    def user(self, name: str) -> Access:
        """One of `users`, or "admin", who the plane's own attributes stand for."""
        if name not in self._users:
            raise UsageError(
                f"this plane has no user {name!r}: start it with plane(users={{{name!r}: ROLE}})"
            )
        return self._users[name]

    def client_config(self, namespace: str = "default") -> dict[str, Any]:
        return self.user(ADMIN_NAME).client_config(namespace)

    @property
    def kubectl_env(self) -> dict[str, str]:
        return self.user(ADMIN_NAME).kubectl_env

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> Answer:
        return self.user(ADMIN_NAME).request(method, path, body, content_type=content_type)

    # What is there

    def create(self, *manifests: str | Path | Mapping[str, Any]) -> list[dict[str, Any]]:
        """Create objects, given as such, as files or as folders of them; returns them as the API has them.

        What exists already is left as it is. A custom kind is served when this returns.
        """
        return seeding.create(self.user(ADMIN_NAME), manifests)

    def namespace(self, prefix: str = "test") -> str:
        """Make a namespace that is nobody else's, and name it."""
        while True:
            self._namespaces += 1
            name = f"{prefix}-{self._namespaces}"
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            status, answer = self.request("POST", "/api/v1/namespaces", body)
            if status == 201:
                return name
            if status != 409:
                raise UsageError(f"namespace {name} cannot be made: {answer['message']}")

    # Trouble

    def restart(self) -> None:
        """Stop as SIGTERM does, start on what was kept. Watches end cleanly, other connections close."""
        self._backend.stop()
        self._backend.start()

    def crash(self) -> None:
        """End as `kill -9` does, start on what was durable. Open requests are not answered; what was acknowledged is
        there. Only with process=True and a disk that is pulled would anything be lost that this keeps."""
        self._backend.crash()
        self._backend.start()

    def drop_watches(self) -> None:
        """Cut every open watch in the middle of the stream, as a network that fails does."""
        backend = self._seam("drop_watches")
        backend.do(backend.drop_watches())

    def expire_history(self) -> None:
        """Forget what was superseded until now. Open watches end with 410 in the stream; who resumes from a revision
        that is gone gets a 410 too. Their clients must list again."""
        backend = self._seam("expire_history")
        backend.do(backend.expire_history())

    @contextlib.contextmanager
    def unkind(
        self,
        seed: int = 0,
        *,
        delay_seconds: float = 0.0,
        lost_requests: float = 0.0,
        lost_replies: float = 0.0,
        refused: float = 0.0,
    ) -> Iterator[Unkindness]:
        """Be unkind to clients in this block, by seed: see `Unkindness`, whose `counts` say what was done."""
        from fairlead.testing.unkind import Unkindness

        door = self._seam("unkind").door
        unkindness = Unkindness(seed, delay_seconds, lost_requests, lost_replies, refused)
        before, door.unkindness = door.unkindness, unkindness
        try:
            yield unkindness
        finally:
            door.unkindness = before

    def _seam(self, name: str) -> InProcess:
        from fairlead.testing.in_process import InProcess

        if isinstance(self._backend, InProcess):
            return self._backend
        raise UsageError(f"{name} reaches into the server: leave process=True out to use it")

    def close(self) -> None:
        self._backend.stop()


@contextlib.contextmanager
def plane(
    *,
    controllers: bool = True,
    hollow_nodes: int = 0,
    data_dir: str | Path | None = None,
    port: int = 0,
    users: Mapping[str, str] | None = None,
    crds: Sequence[str | Path] = (),
    manifests: Sequence[str | Path] = (),
    process: bool = False,
    wall_clock: Callable[[], float] = time.time,
) -> Iterator[Plane]:
    """A running API on the loopback address, until the block ends.

    `controllers`: False serves the API alone; deletion is still completed, because the API promises it.
    `hollow_nodes`: so many pretend nodes, on which pods seem to run.
    `data_dir`: keep the store there, durably; without it everything is in memory.
    `users`: further ones, name to role (admin, viewer, node, or user: what Roles and bindings grant).
    `crds`, `manifests`: files or folders of YAML or JSON to begin with, in this order.
    `process`: in a process of its own instead of a thread of this one.
    `wall_clock`: what the server takes for it, such as one that a test sets an hour back. Not with `process`.
    """
    if not 0 <= port <= _PORT_LAST:
        raise UsageError(f"port={port} is no TCP port: choose one from 1 to 65535, or 0 for any free one")
    if not isinstance(hollow_nodes, int) or hollow_nodes < 0:
        raise UsageError(f"hollow_nodes={hollow_nodes!r}: give a number of nodes, or 0 for none")
    roles = dict(users or {})
    for name, role in roles.items():
        if role not in _ROLES or name == ADMIN_NAME:
            raise UsageError(
                f"users={{{name!r}: {role!r}}}: name users other than admin, with a role of {_ROLES}"
            )
        check_name(role, name)
    with contextlib.ExitStack() as undoing:
        if data_dir is None:
            made = undoing.enter_context(
                tempfile.TemporaryDirectory(prefix="fairlead-", ignore_cleanup_errors=True)
            )
        directory = Path(made if data_dir is None else data_dir).absolute()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = ServeSettings(
            directory,
            _LISTEN,
            port,
            banner=False,
            hollow_nodes=hollow_nodes,
            controllers=controllers,
            sample=False,
            publishes_authority=False,  # a test finds the ConfigMaps that it makes, and no others
        )
        kept = data_dir is not None
        running = Plane(_backend(settings, roles, process, kept, wall_clock), directory)
        undoing.callback(running.close)
        running.create(*crds)
        running.create(*manifests)
        yield running


def _backend(
    settings: ServeSettings,
    roles: Mapping[str, str],
    process: bool,
    kept: bool,
    wall_clock: Callable[[], float],
) -> ServerBackend:
    """Imported here, because the whole server takes long to import: tests that are only collected need not wait."""
    if process:
        if wall_clock is not time.time:
            raise UsageError("wall_clock reaches into the server: leave process=True out to use it")
        from fairlead.testing.separate import SeparateProcess

        return SeparateProcess(settings, roles)
    from fairlead.testing.in_process import InProcess

    return InProcess(settings, roles, kept, wall_clock)
