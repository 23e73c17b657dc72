"""From a run to a process: fork, and in the child session, limits, user, directory and the command itself.

Called by `containers.py` in the supervisor. The child tells through a pipe that closes by itself when the command has
taken over; until then what goes wrong is written there, as a StartError with the fix. The parent never waits for it: a
command on a disk that hangs must not keep the supervisor from its deadline. Standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os

from fairlead.agent.drivers import limits, private_mounts, privileges, user_namespaces
from fairlead.agent.drivers.lean_stdlib import signal, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Json = dict[str, Any]

NOT_STARTED, NOT_EXECUTABLE, NO_INTERPRETER = 128, 126, 127
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None, use_errno=True)
_ALL_SIGNALS = set(range(1, signal.NSIG)) - {
    signal.SIGKILL,
    signal.SIGSTOP,
    32,
    33,
}  # two are the C library's own


class StartError(Exception):
    def __init__(self, message: str, exit_code: int = NOT_STARTED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def adopt_orphans() -> None:
    """Descendants whose parent is gone become children of this process, not of init."""
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def boottime_timer() -> int:
    """A timerfd that also goes off for the time the machine was asleep, which poll's own timeout does not count."""
    clock_boottime, nonblocking_cloexec = 7, os.O_NONBLOCK | os.O_CLOEXEC
    timer = _LIBC.timerfd_create(clock_boottime, nonblocking_cloexec)
    if timer < 0:
        raise OSError(ctypes.get_errno(), "timerfd_create")
    return int(timer)


def set_timer(timer: int, at: float | None) -> None:
    absolute = 1
    whole, part = divmod(int(at * 1e9), 10**9) if at is not None else (0, 0)
    when = (ctypes.c_long * 4)(0, 0, whole, part if at is None or whole else max(part, 1))
    if _LIBC.timerfd_settime(timer, absolute, when, None):
        raise OSError(ctypes.get_errno(), "timerfd_settime")


def launch(
    run: Json, argv: list[str], groups: dict[str, str], output: int, errors: int, beside: int = 0
) -> tuple[int, int]:
    """The child's pid and the reading end of its pipe. `beside`: the main process of the container that it joins."""
    tell_from, tell_to = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL_SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            _become(run, argv, groups, output, errors=errors, beside=beside, parent=parent, tell=tell_to)
    except OSError:
        os.close(tell_from)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(tell_to)
    return pid, tell_from


def _become(
    run: Json,
    argv: list[str],
    groups: dict[str, str],
    output: int,
    errors: int,
    beside: int,
    parent: int,
    tell: int,
) -> NoReturn:
    """In the child. Whatever happens, this does not return."""
    try:
        for number in _ALL_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((null, 0), (output, 1), (errors, 2)):
            os.dup2(source, target)
        limits.enter(groups)
        if not groups.keys() & {"memory", "unified"}:
            limits.limit_data(run["memory_bytes"])
        _take_view(run, beside)
        if run.get("capabilities") is not None:
            privileges.limit_capabilities(run["capabilities"])
        _switch_user(run["user"], run["group"], run.get("supplementary") or [])
        if run.get("capabilities") is not None:
            privileges.keep_capabilities(run["capabilities"])
        if not run.get("escalates"):
            privileges.gain_none()
        # After the switch, which would clear it.
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(NOT_STARTED)
        _change_directory(run)
        _execute(run, argv)
    except StartError as error:
        _tell(tell, str(error), error.exit_code)
    except (OSError, ValueError) as error:
        _tell(tell, f"cannot start {argv[0]!r}: {error}", NOT_STARTED)
    finally:
        os._exit(NOT_STARTED)


def _tell(pipe: int, message: str, exit_code: int) -> None:
    # One write of less than PIPE_BUF is never half.
    os.write(pipe, to_json({"message": message[:512], "exit_code": exit_code}).encode()[:4096])


def _take_view(run: Json, beside: int) -> None:
    """Its own view of the machine's files, where the agent found that it can have one."""
    private = run.get("private")
    if private is None:
        return
    try:
        if beside:
            private_mounts.join(beside)
        else:
            private_mounts.enter(run["root"], private, run["user"])
            if private.get("separate"):
                user_namespaces.separate()
    except private_mounts.MountError as error:
        raise StartError(f"volumeMounts of container {run['name']}: {error}") from None
    except OSError as error:
        raise StartError(f"cannot give it files of its own: {error.strerror}") from None


def _switch_user(user: int | None, group: int | None, supplementary: list[int]) -> None:
    """`group` is given wherever it can be switched. Nothing is imported here: it may be the pod's files by now."""
    own = os.geteuid()
    if own != 0:
        if user in (None, own) and group in (None, os.getegid()):
            return
        raise StartError(
            f"cannot run as user {user if user is not None else own}, group {group}: this agent runs as user {own}, "
            "and only root may switch: run the agent as root, or remove runAsUser and runAsGroup from securityContext"
        )
    try:
        os.setgroups(supplementary)
        if group is not None:
            os.setgid(group)
        if user is not None:
            os.setuid(user)
    except OSError as error:
        raise StartError(
            f"cannot run as user {user}, group {group}: {error.strerror}: correct runAsUser and runAsGroup"
        ) from None


def within_root(root: str, path: str) -> str:
    """What a pod calls /a/b is a/b in its root where a volume put it there, else the machine's own /a/b."""
    inside = f"{root}{path}"
    return inside if path.startswith("/") and os.path.exists(inside) else path


def _change_directory(run: Json) -> None:
    wanted = run["working_directory"]
    try:
        os.chdir(run["root"])
        if wanted:
            os.chdir(within_root(run["root"], wanted))
    except PermissionError as error:
        raise StartError(
            f"user {os.geteuid()} may not enter {error.filename}: let it through every directory above (chmod o+x), "
            "or choose another workingDir or runAsUser"
        ) from None
    except OSError as error:
        raise StartError(
            f"workingDir {wanted!r}: {error.strerror}: create it on this node, mount a volume there, or correct "
            "workingDir"
        ) from None


def _execute(run: Json, argv: list[str]) -> None:
    environment = dict(run["environment"])
    command = argv[0]
    if "/" in command:
        places = [within_root(run["root"], command)]
    else:
        places = [
            f"{directory or '.'}/{command}" for directory in environment.get("PATH", os.defpath).split(":")
        ]
    denied = ""
    for place in places:
        try:
            os.execve(place, argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.isfile(place):
                raise StartError(
                    f"exec: {command!r}: its interpreter does not exist: correct the first line of {place}",
                    NO_INTERPRETER,
                ) from None
        except PermissionError:
            denied = place
        except OSError as error:
            _refuse(command, place, error)
    if denied:
        raise StartError(
            f"exec: {command!r}: permission denied: {denied} must be a file that user {os.geteuid()} may execute",
            NOT_EXECUTABLE,
        )
    if "/" in command:
        raise StartError(
            f"exec: {command!r}: no such file: correct the container's command, or put it on this node"
        )
    raise StartError(
        f"exec: {command!r}: executable file not found in $PATH: correct the container's command, or install it on "
        "this node"
    )


def _refuse(command: str, place: str, error: OSError) -> None:
    if error.errno == errno.ENOEXEC:
        raise StartError(
            f"exec: {command!r}: exec format error: {place} needs a first line such as #!/bin/sh",
            NOT_EXECUTABLE,
        ) from None
    if error.errno == errno.E2BIG:
        raise StartError(
            f"exec: {command!r}: arguments and environment are too long together: shorten env, envFrom or args"
        ) from None
    raise StartError(f"exec: {command!r}: {error.strerror}") from None
