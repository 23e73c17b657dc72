"""A server as a process: opens the data directory, runs the parts until it is told to stop, releases the directory.

Called by `fairlead up` and `fairlead serve`. The parts themselves are in `serving.py`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import time

import uvloop

from fairlead import __version__
from fairlead.runtime import logs
from fairlead.runtime.clock import Clock
from fairlead.runtime.credentials import identity
from fairlead.runtime.credentials.kubeconfig import server_url
from fairlead.runtime.data.directory import open_data_directory
from fairlead.runtime.data.reserve import Reserve
from fairlead.runtime.server import first_run
from fairlead.runtime.server.local_agents import LocalAgent
from fairlead.runtime.server.serving import Server
from fairlead.runtime.server.settings import ServeSettings

log = logging.getLogger("fairlead.runtime")


def run(settings: ServeSettings, waiting: dict[str, LocalAgent] | None = None) -> int:
    """Serve until told to stop. Returns the exit code. `waiting`: agents that are to be told where the server is."""
    started = time.monotonic()
    os.umask(0o077)  # the store holds Secrets: no file we make is anybody else's to read
    directory = open_data_directory(settings.data_dir)
    logs.set_up(settings.data_dir, settings.log_format)
    try:
        clock = Clock()
        known = identity.ensure(settings.data_dir, settings.listen, settings.port, clock())
        journal = directory.journal()
        reserve = Reserve(directory.store_path, journal)
        server = Server(settings, journal, known, waiting, clock=clock, reserve=reserve)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_until_signalled(server, started))
    finally:
        directory.close()
    return 0


async def _until_signalled(server: Server, started: float) -> None:
    stopped = asyncio.Event()

    def stop() -> None:
        if not stopped.is_set():
            stopped.set()
            _say_stopping(server)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)

    def ready(port: int) -> None:
        _settle_memory()
        _announce(server, port, started)

    await server.serve(stopped, ready)
    log.info("stopped")
    print("stopped", file=sys.stderr, flush=True)


def _announce(server: Server, port: int, started: float) -> None:
    url = server_url(server.settings.listen, port)
    took = (time.monotonic() - started) * 1000
    kubeconfig = server.known.kubeconfig
    log.info("Fairlead %s serves %s from revision %d on", __version__, url, server.store.revision)
    if server.settings.banner:
        print(
            f"Fairlead {__version__} serves {url}  (ready in {took:.0f} ms, revision {server.store.revision})"
        )
        print(f"\n  export KUBECONFIG={kubeconfig.resolve()}{first_run.own_programs()}")
        for line in first_run.try_next(server.store, server.settings.nodes, server.is_first_run):
            print(f"  {line}")
        print("\nCtrl-C stops it; everything is kept.", flush=True)
    else:
        print(f"serving {url} kubeconfig {kubeconfig}", file=sys.stderr, flush=True)


def _say_stopping(server: Server) -> None:
    number = server.settings.nodes
    ending = f"{number} node{'s' if number > 1 else ''} and their pods end; " if number else ""
    kept = f"everything is kept in {server.settings.data_dir}"
    log.info("stopping: %s%s", ending, kept)
    # After the ^C that a terminal shows, on a line of its own.
    start = "\n" if sys.stderr.isatty() else ""
    print(f"{start}stopping: {ending}{kept}", file=sys.stderr, flush=True)


def _settle_memory() -> None:
    """What start-up made stays; what a request makes is nearly all freed by counting references alone.

    Stored objects are bytes in structs that the collector does not track, so looking often finds nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
