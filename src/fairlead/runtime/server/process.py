"""Joins everything into a running server: data directory, store, API, listener; and takes it apart again.

Called by `fairlead up` and `fairlead serve`. Start: open the data directory, recover the store, make what a first
start needs, listen, write the kubeconfig. Stop (SIGTERM, SIGINT): end watches, answer what is open, let pending
writes become durable, release the directory. `testing/` runs the same Server on a loop in a thread of its own.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterable, Iterator

import uvloop

from fairlead import __version__
from fairlead.agent.hollow.decider import hollow_decider
from fairlead.api.access.openid import OpenIdTokens
from fairlead.api.admission import DEFAULT_STEPS, SERVING_STEPS, AdmissionChain
from fairlead.api.assembly import Assembly, Remembered
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.control.authority import warning_steps
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders, serving_deciders
from fairlead.core.errors import OperatorError
from fairlead.explain.sources import Sources
from fairlead.reconcile.event_expiry import EventsKept
from fairlead.runtime import logs
from fairlead.runtime.clock import Clock, follow_wall_clock
from fairlead.runtime.credentials import identity
from fairlead.runtime.credentials.identity import Identity
from fairlead.runtime.credentials.kubeconfig import server_url
from fairlead.runtime.credentials.openid_keys import OpenIdKeys
from fairlead.runtime.credentials.renewing import Renewing
from fairlead.runtime.data.decision_index import DecisionIndexFile, index_beside
from fairlead.runtime.data.directory import open_data_directory
from fairlead.runtime.data.reserve import Reserve
from fairlead.runtime.metrics.contract import MetricSample
from fairlead.runtime.metrics.server import MeasuredParts, server_samples
from fairlead.runtime.server import first_run
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.bootstrap import ensure_initial_objects
from fairlead.runtime.server.chaos import Chaos
from fairlead.runtime.server.expirer import Expirer
from fairlead.runtime.server.granting import Granting
from fairlead.runtime.server.health import damage_told
from fairlead.runtime.server.host import ServingHost
from fairlead.runtime.server.local_agents import LocalAgent
from fairlead.runtime.server.local_nodes import LocalNodes
from fairlead.runtime.server.log_budget import LogBudget
from fairlead.runtime.server.monitoring import Monitoring
from fairlead.runtime.server.mounting import mount_documents
from fairlead.runtime.server.node_connections import NodeConnections
from fairlead.runtime.server.own_service import ensure_own_service, own_address
from fairlead.runtime.server.plane_driver import PlaneDriver
from fairlead.runtime.server.plane_reports import PlaneReports
from fairlead.runtime.server.planes import Planes
from fairlead.runtime.server.record_counts import RecordCounts
from fairlead.runtime.server.routes import ServerRoutes
from fairlead.runtime.server.settings import ServeSettings
from fairlead.runtime.server.signing import Signing
from fairlead.runtime.server.store_driver import StoreDriver
from fairlead.runtime.server.unled import Unled
from fairlead.runtime.tracing.exporter import Exporter, started_exporter, tracer_of
from fairlead.store.contract import CommittedChange, Journal, Retention
from fairlead.store.machine import Store
from fairlead.wire.documents import Documents
from fairlead.wire.exchange import Exchange
from fairlead.wire.handler import Handler
from fairlead.wire.listener import Listener
from fairlead.wire.turns import Turns
from fairlead.wire.validity import leave_time_out
from fairlead.wire.watching import Watches

log = logging.getLogger("fairlead.runtime")

Handle = Callable[[Exchange], None]

#: bound: connections | a stopping server waits for | the rest is cut
GRACE_SECONDS = 5.0
#: bound: tokens | a changed token table is noticed within | -
TOKENS_SECONDS = 1.0


def retention(history_seconds: float) -> dict[str, Retention]:
    """How long history is kept, per resource: shorter for what changes all the time. Leases long enough that what was
    decided on them can be run again (`replay/`) when somebody comes to look."""
    mebibyte = 1024 * 1024
    return {
        "": Retention(history_seconds, 256 * mebibyte),
        "leases.coordination.k8s.io": Retention(min(history_seconds, 1800.0), 64 * mebibyte),
        "events": Retention(min(history_seconds, 3600.0), 64 * mebibyte),
    }


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
            server.say_stopping()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)

    def ready(port: int) -> None:
        _settle_memory()
        server.announce(port, started)

    await server.serve(stopped, ready)
    log.info("stopped")
    print("stopped", file=sys.stderr, flush=True)


class Server:
    """The parts of one running server. `around`: what stands between the listener and the handler, if anything."""

    def __init__(
        self,
        settings: ServeSettings,
        journal: Journal,
        known: Identity,
        waiting: dict[str, LocalAgent] | None = None,
        around: Callable[[Handle], Handle] = lambda handle: handle,
        clock: Clock | None = None,
        reserve: Reserve | None = None,
    ) -> None:
        self._settings = settings
        self._waiting = waiting or {}
        self._known = known
        self._around = around
        self._clock = clock or Clock()
        self._journal = journal
        self._reserve = reserve
        recovered = journal.recover()
        self._store = Store(recovered, journal)
        self._index = index_beside(journal)
        self._log_budget = LogBudget(journal)
        self._log_budget.learn(self._store)
        steps = SERVING_STEPS if settings.publishes_authority else DEFAULT_STEPS
        self._assembly = Assembly(
            self._store,
            known.tokens.tokens(),
            known.signing_key(),
            Remembered(chain=AdmissionChain(warning_steps(steps, settings.controllers))),
        )
        self._hub = self._assembly.hub
        for told in (*recovered.reports, *damage_told(self._store)):
            log.error("%s", told)
        self._warn(self._assembly.troubles)
        self._routes: ServerRoutes | None = None
        self._exporter: Exporter | None = None

    async def serve(self, stopped: asyncio.Event, ready: Callable[[int], None]) -> None:
        """Until `stopped` is set. `ready` is told the port once clients can come."""
        loop = asyncio.get_running_loop()
        desk, api = self._assembly.desk, self._assembly.api
        self.watches = Watches(loop, self._hub, self._clock)
        kept = retention(self._settings.history_seconds)
        self.driver = driver = StoreDriver(
            loop, self._store, self._journal, self._publish, kept, self._clock, reserve=self._reserve
        )
        host = ServingHost(api, driver, lambda: self._take_new_tokens(api), self._clock)
        self._expirer = Expirer(host, EventsKept(self._settings.event_ttl_seconds), self._clock)
        self._signing = Signing(host, self._known, self._clock)
        self._granting = Granting(host, self._journal, self._clock)
        self._exporter = started_exporter(self._settings.traces)
        tracer = tracer_of(self._exporter, self._settings.traces)
        self._chaos = chaos = Chaos(loop, host, self._store, self._assembly.served, self._clock)
        chaos.learn()
        self._planes = Planes(
            loop,
            lambda failed: PlaneDriver(
                loop, self._plane(), host, self._store, self._hub, self._clock, failed, tracer, chaos,
                self._settings.tape,
            ),
        )  # fmt: skip
        self._answering = Answering(loop)
        self._monitoring = Monitoring(
            lambda: self._planes.plane, self._store, self._journal, self._assembly.served, self._clock
        )
        driver.start()
        if isinstance(self._index, DecisionIndexFile):
            self._index.start()
        publishes = self._settings.publishes_authority
        await ensure_initial_objects(host, self._known.ca_certificate.read_text() if publishes else "")
        fetching: asyncio.Task[None] | None = None
        if self._settings.openid is not None:
            keys = OpenIdKeys(self._settings.openid.issuer, self._settings.openid_authority)
            api.sign_in.openid = OpenIdTokens(self._settings.openid, keys.verify)
            fetching = asyncio.create_task(keys.run())
        self._signing.learn_all()
        signing = asyncio.create_task(self._signing.run())
        self._expirer.learn_all()
        expiring = asyncio.create_task(self._expirer.run())
        following_clock = asyncio.create_task(follow_wall_clock(self._clock, self._planes.stepped))
        self._reports = PlaneReports(self._journal, self._index, self._answering, driver.submit, self._clock)
        self._sources = Sources(
            self._store,
            self._journal,
            lambda: self._planes.plane,
            self._clock,
            self._index,
            self._reports.leading,
        )
        counting = asyncio.create_task(RecordCounts(host, self._sources).run())
        self._planes.start()
        self._monitoring.start()
        monitoring = asyncio.create_task(self._monitoring.run())
        injecting = asyncio.create_task(chaos.run())
        self._asked = NodeConnections(loop, self._known)
        self._granting.learn_all()
        granting = asyncio.create_task(self._granting.run())
        unled = asyncio.create_task(Unled(host, self._clock).run())
        self._turns = Turns(loop, self._assembly.flow_control, self._store, self._clock.steady)
        driver.gathers = self._turns.gathers
        handler = Handler(
            host,
            self._documents(desk, lambda: handler),
            self.watches,
            self._asked,
            self._turns,
            tracer.answered if tracer is not None else None,
        )
        self.listener = listener = Listener(
            loop, self._around(handler), handler.malformed, handler.owner_of_body
        )
        port = await self._listen(listener)
        await ensure_own_service(host, self._settings.listen, port)
        following = asyncio.create_task(self._follow_tokens(api))
        self.renewing = Renewing(
            self._known, self._settings.listen, self._clock, self._renewed, lambda: own_address(self._store)
        )
        renewing = asyncio.create_task(self.renewing.run())
        self._routes = ServerRoutes(loop, self._clock) if self._settings.nodes else None
        if self._routes is not None:
            self._routes.learn_all(self._store)  # before the agents, which find the addresses taken
        nodes = LocalNodes(self._settings, self._known.tokens, self._waiting, self._clock)
        nodes.start(server_url(self._settings.listen, port))
        ready(port)
        sampling = asyncio.create_task(self._first_run(host))
        await stopped.wait()
        sampling.cancel()
        following.cancel()
        renewing.cancel()
        expiring.cancel()
        granting.cancel()
        unled.cancel()
        counting.cancel()
        monitoring.cancel()
        injecting.cancel()
        signing.cancel()
        if fetching is not None:
            fetching.cancel()
        following_clock.cancel()
        self._planes.stop()  # first, so that nothing is done about the nodes' leaving
        await nodes.stop()  # while the API still answers: what becomes of their pods is written down
        if self._routes is not None:
            self._routes.stop()
        self.watches.stop()
        await self._asked.stop()
        await listener.stop(GRACE_SECONDS)
        self._turns.stop()
        self._answering.stop()
        await driver.stop(GRACE_SECONDS)
        self._close_index()
        if self._exporter is not None:
            await asyncio.to_thread(self._exporter.stop)
        self._journal.close()

    def fall(self) -> None:
        """End as if killed: nobody is told, what is not durable is lost. `serve` must be cancelled right after."""
        self._planes.stop()
        self._answering.stop()
        self.listener.cut_all()
        self.driver.abandon()
        self._close_index()

    def _close_index(self) -> None:
        if isinstance(self._index, DecisionIndexFile):
            self._index.close()

    def _plane(self) -> Plane:
        deciders = default_deciders() if self._settings.controllers else serving_deciders()
        hollow = self._settings.hollow_nodes
        if hollow:
            deciders = (*deciders, hollow_decider("hollow-", hollow))
        # The data directory has one process at a time: who restarts on it is the same holder and need not wait.
        return Plane(
            socket.gethostname(),
            deciders,
            Placer if self._settings.controllers else None,
            version=__version__,
        )

    @property
    def _is_first_run(self) -> bool:
        return bool(self._known.created and self._settings.nodes and self._settings.sample)

    async def _first_run(self, host: ServingHost) -> None:
        if not self._is_first_run:
            return
        began = time.monotonic()
        if await first_run.make_sample(host, self._settings.nodes) and self._settings.banner:
            await first_run.Progress(self._store, began).tell(first_run.say, sys.stdout.isatty())

    def _publish(self, changes: tuple[CommittedChange, ...]) -> None:
        self._warn(self._assembly.observe(changes, self._clock()))  # before anybody hears of them
        woken = self._hub.publish(changes)
        self.watches.wake(woken)
        self.watches.end_of(self._assembly.custom.changed)
        self._planes.wake(woken)
        self._expirer.observe(changes)
        self._signing.observe(changes)
        self._log_budget.observe(changes)
        self._monitoring.observe(changes)
        self._chaos.observe(changes)
        if self._granting.observe(changes):
            self._end_what_is_not_granted()
        if self._routes is not None:
            self._routes.observe(changes)

    def _warn(self, troubles: Iterable[str]) -> None:
        for trouble in troubles:
            log.warning("%s", trouble)

    def _documents(self, desk: Desk, handler: Callable[[], Handler]) -> Documents:
        return mount_documents(
            desk=desk,
            store=self._store,
            answering=self._answering,
            samples=lambda: self._samples(desk, handler()),
            checks=lambda: self._planes.checks(self._planes.lags(), self._clock()),
            address=f"{self._settings.listen}:{self._settings.port}",
            sources=self._sources,
            reports=self._reports,
        )

    def _samples(self, desk: Desk, handler: Handler) -> Iterator[MetricSample]:
        lags = self._planes.lags()
        return server_samples(
            MeasuredParts(
                version=__version__,
                store=self._store,
                audit=desk.audit,
                hub=self._hub,
                watches=self.watches,
                node_connections=self._asked,
                listener=self.listener,
                clock=self._clock,
                plane=self._planes.plane,
                lags=lags,
                checks=self._planes.checks(lags, self._clock()),
                planes_replaced=self._planes.replaced,
                answering=self._answering,
                requests=handler.requests,
                latencies=handler.latencies,
                turns=self._turns,
                routes=self._routes,
                exporter=self._exporter,
                monitoring=self._monitoring,
            )
        )

    def _tls(self) -> ssl.SSLContext:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.minimum_version = ssl.TLSVersion.TLSv1_2
        tls.load_cert_chain(self._known.server_certificate, self._known.server_key)
        tls.set_alpn_protocols(["http/1.1"])
        tls.load_verify_locations(self._known.ca_certificate)
        tls.verify_mode = ssl.CERT_OPTIONAL  # who has a certificate of this authority may sign in with it
        leave_time_out(tls)  # `api/access/client_certificates.py` judges it, by the clock of this process
        return tls

    def _renewed(self) -> None:
        self.listener.arriving.tls = self._tls()
        self._asked.renew()

    async def _listen(self, listener: Listener) -> int:
        tls = self._tls()
        settings = self._settings
        try:
            port = await listener.listen(settings.listen, settings.port, tls)
        except OSError as error:
            raise OperatorError(
                f"cannot listen on {settings.listen} port {settings.port}: {os.strerror(error.errno or 0).lower()}; "
                "choose another with --port, or stop what uses it"
            ) from error
        if port != settings.port:
            self._known.lead_to(settings.listen, port, self._clock())
        return port

    async def _follow_tokens(self, api: Api) -> None:
        """Tokens that were revoked on the command line stop working within a second, and what was opened with one that
        was revoked, has expired or lost what it was bound to, ends; new ones work at once."""
        while True:
            await asyncio.sleep(TOKENS_SECONDS)
            self._take_new_tokens(api)
            self._end_what_is_not_signed_in(api)

    def _take_new_tokens(self, api: Api) -> bool:
        try:
            changed = self._known.tokens.changed()
        except (OperatorError, OSError) as error:
            log.error("the token table stays as it was: %s", error)
            return False
        if changed is not None:
            api.sign_in.tokens = changed
            self._end_what_is_not_signed_in(api)
        return changed is not None

    def _end_what_is_not_signed_in(self, api: Api) -> None:
        """Watches and logs end with the token that they were opened with."""
        now = self._clock()
        self.watches.keep(lambda user: api.sign_in.knows(user, now))
        self._asked.keep(lambda user: api.sign_in.knows(user, now))
        self._end_what_is_not_granted()

    def _end_what_is_not_granted(self) -> None:
        """Watches and logs that a grant allowed end with it."""
        now, held = self._clock(), self._assembly.access_grants
        self.watches.keep_granted(lambda name: held.holding(name, now) is not None)
        self._asked.keep_granted(lambda name: held.holding(name, now) is not None)

    def announce(self, port: int, started: float) -> None:
        url = server_url(self._settings.listen, port)
        took = (time.monotonic() - started) * 1000
        kubeconfig = self._known.kubeconfig
        log.info("Fairlead %s serves %s from revision %d on", __version__, url, self._store.revision)
        if self._settings.banner:
            print(
                f"Fairlead {__version__} serves {url}  (ready in {took:.0f} ms, revision {self._store.revision})"
            )
            print(f"\n  export KUBECONFIG={kubeconfig.resolve()}{first_run.own_programs()}")
            for line in first_run.try_next(self._store, self._settings.nodes, self._is_first_run):
                print(f"  {line}")
            print("\nCtrl-C stops it; everything is kept.", flush=True)
        else:
            print(f"serving {url} kubeconfig {kubeconfig}", file=sys.stderr, flush=True)

    def say_stopping(self) -> None:
        number = self._settings.nodes
        ending = f"{number} node{'s' if number > 1 else ''} and their pods end; " if number else ""
        kept = f"everything is kept in {self._settings.data_dir}"
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
