"""What a node's agent is told and what it asks for: its events (past tense) and instructions (imperative), beside the
vocabulary of `port/driving.py` and what mirrors are told (`cache/events.py`).

    mirrors of its pods, services ─┐                    ┌─> Ask        the API: node, lease, status, deletion
    answers of the API ────────────┤                    ├─> Open, Start, Stop, Refresh, Close, Extend ...   the driver
    what the driver sees ──────────┼──> Agent (pure) ───┼─> Probe
    results of probes ─────────────┤                    ├─> Serve      the proxy
    time ──────────────────────────┘                    └─> WakeAt

`machine.py` is the Agent. A driver (`drivers/process.py` for real processes, the simulator's own) carries the
instructions out; `runtime/node/driver.py` joins them with the API. All instants are of the agent's clock: seconds
since the epoch that never jump (boot time plus an offset fixed when the agent starts), so that a deadline handed to a
driver means the same there.

A Sandbox is all that is known of one pod on this machine. It is kept by a supervisor that outlives the agent: it owns
the pod's processes, writes down how they end, and kills them all when its deadline passes, if it has one: only pods of
which at most one may run do. Reports are levels, not edges: the newest Sandbox of a pod replaces what was known before,
and may be told any number of times.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.cache.events import Mirrored
from fairlead.port.driving import Follow, ListAll, Started, Stepped, WakeAt, Woke
from fairlead.port.outcome import Outcome
from fairlead.port.request import Request
from fairlead.port.usage import NodeUsage

Json = dict[str, Any]


# What the driver tells


class ContainerEnded(msgspec.Struct, frozen=True):
    """How one run of a container ended."""

    attempt: int
    exit_code: int  # 128 + signal where a signal ended it
    signal: int = 0
    reason: str = ""  # Completed, Error, OOMKilled, StartError, DeadlineExceeded (fenced), SupervisorLost
    message: str = ""
    started_at: float = 0.0
    finished_at: float = 0.0


class ContainerState(msgspec.Struct, frozen=True):
    """The newest run of a container. `ended` is None while it runs; `previous` is the run before it."""

    name: str
    attempt: int  # 0 for the first; how often it was restarted
    started_at: float
    pid: int = 0
    ended: ContainerEnded | None = None
    previous: ContainerEnded | None = None


class Sandbox(msgspec.Struct, frozen=True):
    uid: str
    namespace: str
    name: str
    address: str = ""  # its own loopback address
    containers: tuple[
        ContainerState, ...
    ] = ()  # those that were ever started, in the order of their first start
    alive: bool = (
        True  # its supervisor answers; if not, nothing of it runs any more and a new one may be opened
    )
    fenced: bool = False  # the deadline passed: everything was killed, nothing is started in it again
    deadline: float | None = None  # at least until then it goes on without an agent; None: for ever
    outdated: bool = False  # its supervisor is older than what this node isolates now


# What the driver is asked


class Volume(msgspec.Struct, frozen=True):
    """Files that a pod finds in the directory of a volume. None of `files` for one it may write (emptyDir)."""

    name: str
    files: tuple[tuple[str, bytes, int], ...] | None  # (path in it, content, mode)


class Mount(msgspec.Struct, frozen=True):
    """`path` is where the container wants it; the process driver puts it there under $FAIRLEAD_ROOT."""

    volume: str
    path: str
    sub_path: str = ""
    read_only: bool = False


class ContainerRun(msgspec.Struct, frozen=True):
    """All it takes to start a container once."""

    name: str
    attempt: int
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    working_directory: str = ""  # "": the root of the pod
    mounts: tuple[Mount, ...] = ()
    user: int | None = None
    group: int | None = None
    cpu_millis: int = 0  # limits; 0: none
    memory_bytes: int = 0
    groups: tuple[int, ...] = ()  # supplementary ones
    escalates: bool = False  # setuid programs work in it
    capabilities: int | None = None  # a mask of those that are left to it; None: all that the agent has
    read_only_root: bool = False  # but for its volumes


class Open(msgspec.Struct, frozen=True):
    """Make the pod's directory, volumes and supervisor. Asked again, what exists is kept. Answered by Saw or Failed.
    `deadline`: the supervisor ends all of it then, unless it is extended; None: it has none."""

    uid: str
    namespace: str
    name: str
    address: str
    volumes: tuple[Volume, ...]
    deadline: float | None
    fs_group: int | None = None  # all its volumes belong to this group
    ran_before: bool = (
        False  # an agent with another directory of this machine may have left some of it running
    )


class Start(msgspec.Struct, frozen=True):
    """Start a container. A supervisor starts each (container, attempt) at most once, whoever asks how often."""

    uid: str
    run: ContainerRun


class Stop(msgspec.Struct, frozen=True):
    """SIGTERM to all of a container ("": of the pod), SIGKILL when the grace is over; a shorter one replaces a longer.
    `first` is run before the signal (preStop), within the grace."""

    uid: str
    container: str
    grace_seconds: float
    first: tuple[str, ...] = ()


class Refresh(msgspec.Struct, frozen=True):
    """The files of these volumes have new content."""

    uid: str
    volumes: tuple[Volume, ...]


class Close(msgspec.Struct, frozen=True):
    """Nothing of it is needed any more: kill what is left, end the supervisor, remove directory and logs. Told by
    Closed when nothing of it runs and nothing of it is left."""

    uid: str


class Extend(msgspec.Struct, frozen=True):
    """Every supervisor of this node that has a deadline may go on until this instant."""

    deadline: float


class LiftDeadline(msgspec.Struct, frozen=True):
    """This pod's supervisor, which an older agent gave a deadline, goes on without one. Answered by Saw."""

    uid: str


class Probe(msgspec.Struct, frozen=True):
    """Look once; answered by exactly one Probed. `action` is the probe's exec, httpGet or tcpSocket, as in the spec,
    with ports as numbers and the pod's address as host where none was given."""

    number: int
    uid: str
    container: str
    action: Json
    timeout_seconds: float


class Backend(msgspec.Struct, frozen=True):
    address: str
    port: int
    weight: int = 1  # of the connections of its route, beside the weights of the others; from 1 to 100


class Route(msgspec.Struct, frozen=True):
    """Connections to `address`:`port` go to one of the backends in turn (`backend_turns.py`); with none they are
    refused."""

    service: str  # namespace/name:port, for people
    address: str
    port: int
    backends: tuple[Backend, ...]


class Serve(msgspec.Struct, frozen=True):
    """All routes there are now."""

    routes: tuple[Route, ...]


class Keep(msgspec.Struct, frozen=True):
    """Keep this object on the machine for an agent that starts while no API answers, in place of what was kept of it.
    `data` is its JSON; b"": it is known to be absent; None: forget it."""

    resource: str
    namespace: str
    name: str
    data: bytes | None


class Ask(msgspec.Struct, frozen=True):
    """Send this request; answered by exactly one Answered."""

    call: int
    request: Request


class Attend(msgspec.Struct, frozen=True):
    """Watch this one object. What happens to it is told by Stirred, and so is the end of the watch."""

    resource: str  # configmaps, secrets
    namespace: str
    name: str


class Disregard(msgspec.Struct, frozen=True):
    """End the watch of this object; nothing more is told of it."""

    resource: str
    namespace: str
    name: str


class Log(msgspec.Struct, frozen=True):
    """For whoever runs the agent: something is wrong that no object can say."""

    message: str


# Events


class Recalled(msgspec.Struct, frozen=True):
    """What an earlier agent of this machine had kept; told before Started."""

    kept: tuple[Keep, ...]
    now: float


class Found(msgspec.Struct, frozen=True):
    """All sandboxes on this machine, once, after the start. Before it nothing is opened, started or closed."""

    sandboxes: tuple[Sandbox, ...]
    now: float


class Saw(msgspec.Struct, frozen=True):
    sandbox: Sandbox
    now: float


class Closed(msgspec.Struct, frozen=True):
    uid: str
    now: float


class Failed(msgspec.Struct, frozen=True):
    """An Open, Start, Stop, Refresh or Close could not be carried out: tried again after a back-off, told in status."""

    uid: str
    what: str  # the instruction's name
    message: str
    now: float


class Probed(msgspec.Struct, frozen=True):
    number: int
    good: bool
    message: str
    now: float


class Disk(msgspec.Struct, frozen=True):
    """How much room there is where pods and their logs are kept; `files` 0 where they are not counted."""

    where: str
    free_bytes: int
    bytes: int
    free_files: int
    files: int
    now: float


class Measured(msgspec.Struct, frozen=True):
    """What pods use, read just now: told with the lease where somebody wants to know."""

    usage: NodeUsage
    now: float


class Answered(msgspec.Struct, frozen=True):
    call: int
    outcome: Outcome
    now: float


class Stirred(msgspec.Struct, frozen=True):
    """An object that is attended to is, or is gone, as of this revision; 0: its watch ended, or could not be opened."""

    resource: str
    namespace: str
    name: str
    revision: int
    now: float


class ShutdownRequested(msgspec.Struct, frozen=True):
    """End every pod with its grace, and start nothing any more; `Agent.empty` says when that is done."""

    now: float


PodEvent = Found | Saw | Closed | Failed | Probed  # of the driver of pods
Machine = Disk | Measured  # of the machine itself
AgentEvent = (
    Started
    | Woke
    | Stepped
    | Mirrored
    | Recalled
    | PodEvent
    | Machine
    | Answered
    | Stirred
    | ShutdownRequested
)
PodInstruction = Open | Start | Stop | Refresh | Close | Extend | LiftDeadline | Probe  # to it
AgentInstruction = PodInstruction | Serve | Keep | Ask | Attend | Disregard | Log | WakeAt | ListAll | Follow


class Isolation(msgspec.Struct, frozen=True):
    """What keeps the pods of a node apart, as found out on its machine."""

    mounts: bool = True  # every container has files of its own: absolute mountPaths, the agent's data hidden
    users: bool = True  # pods may have other users, groups and capabilities than the agent
    processes: bool = True  # no pod looks into processes of another, even of the same user; but root may
    pids: bool = True  # the number of a container's processes is limited
    user: int | None = None  # the agent's own
    group: int | None = None


def _room() -> dict[str, str]:
    return {"cpu": "2", "memory": "4Gi", "pods": "110"}


class NodeSettings(msgspec.Struct, frozen=True):
    """What a node is, as told on its command line or found out on its machine."""

    name: str
    labels: dict[str, str] = {}
    capacity: dict[str, str] = msgspec.field(default_factory=_room)
    allocatable: dict[str, str] = msgspec.field(default_factory=_room)
    annotations: dict[str, str] = {}  # the endpoint and its certificate
    info: dict[str, str] = {}  # status.nodeInfo
    lease_seconds: int = 40
    renew_seconds: float = 10.0
    fence_margin_seconds: float = 2.0  # a supervisor's deadline is this much before the lease's end
    boot: str = ""  # tells one start of an agent from another
    user: int | None = None  # the agent's own; None where nothing runs
    isolation: Isolation = Isolation()
    instance: str = (
        ""  # tells agents of one name apart, the same over restarts; "": nobody else can have the name
    )
    place: str = ""  # where that one is, for people
