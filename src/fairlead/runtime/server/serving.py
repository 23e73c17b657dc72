"""A server's parts, how they are joined, and in which order they are taken apart again.

Made by `process.py` from an open data directory, and by `testing/`, which runs the same Server on a loop in a thread of
its own. Start: recover the store, make what a first start needs, listen. Stop: end watches, answer what is open, let
pending writes become durable.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

from fairlead import __version__
from fairlead.agent.hollow.decider import hollow_decider
from fairlead.api.access.openid import OpenIdTokens
from fairlead.api.admission import DEFAULT_STEPS, SERVING_STEPS, AdmissionChain
from fairlead.api.assembly import Assembly, Remembered
from fairlead.api.desk import Desk
from fairlead.control.authority import warning_steps
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders, serving_deciders
from fairlead.explain.sources import Sources
from fairlead.model.marks import CONTROL_LEASE, PLANE_LEASE
from fairlead.reconcile.event_expiry import EventsKept
from fairlead.runtime.clock import Clock, follow_wall_clock
from fairlead.runtime.credentials.identity import Identity
from fairlead.runtime.credentials.kubeconfig import server_url
from fairlead.runtime.credentials.openid_keys import OpenIdKeys
from fairlead.runtime.credentials.renewing import Renewing
from fairlead.runtime.data.decision_index import DecisionIndexFile, index_beside
from fairlead.runtime.data.reserve import Reserve
from fairlead.runtime.metrics.catalog import series_labels
from fairlead.runtime.metrics.contract import MetricSample
from fairlead.runtime.metrics.server import MeasuredParts, server_samples
from fairlead.runtime.server import first_run
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.bootstrap import ensure_initial_objects
from fairlead.runtime.server.certificate_signing import Signing
from fairlead.runtime.server.chaos import Chaos
from fairlead.runtime.server.commit_listeners import Hearing
from fairlead.runtime.server.event_expirer import EventExpirer
from fairlead.runtime.server.granting import Granting
from fairlead.runtime.server.health import damage_told
from fairlead.runtime.server.host import ServingHost
from fairlead.runtime.server.listening import listen, server_tls
from fairlead.runtime.server.local_agents import LocalAgent
from fairlead.runtime.server.local_nodes import LocalNodes
from fairlead.runtime.server.log_budget import LogBudget
from fairlead.runtime.server.lost_counts import LostCounts
from fairlead.runtime.server.monitoring import Monitoring
from fairlead.runtime.server.mounting import mount_documents
from fairlead.runtime.server.node_connections import NodeConnections
from fairlead.runtime.server.own_service import ensure_own_service, own_address
from fairlead.runtime.server.plane_driver import PlaneDriver
from fairlead.runtime.server.plane_reports import PlaneReports
from fairlead.runtime.server.planes import Planes
from fairlead.runtime.server.record_counts import RecordCounts
from fairlead.runtime.server.routes import ServerRoutes
from fairlead.runtime.server.run_meter import RunMeter
from fairlead.runtime.server.settings import ServeSettings
from fairlead.runtime.server.signed_in import SignedIn
from fairlead.runtime.server.store_driver import StoreDriver
from fairlead.runtime.server.unled import Unled
from fairlead.runtime.tracing.exporter import Exporter, started_exporter, tracer_of
from fairlead.store.contract import CommittedChange, Journal, Retention
from fairlead.store.machine import Store
from fairlead.wire.documents import Documents
from fairlead.wire.exchange import Exchange
from fairlead.wire.flow_driver import Turns
from fairlead.wire.handler import Handler
from fairlead.wire.listener import Listener
from fairlead.wire.watching import Watches

log = logging.getLogger("fairlead.runtime")

Handle = Callable[[Exchange], None]

#: bound: connections | a stopping server waits for | the rest is cut
GRACE_SECONDS = 5.0


def retention(history_seconds: float) -> dict[str, Retention]:
    """How long history is kept, per resource: shorter for what changes all the time. Leases long enough that what was
    decided on them can be run again (`replay/`) when somebody comes to look."""
    mebibyte = 1024 * 1024
    return {
        "": Retention(history_seconds, 256 * mebibyte),
        "leases.coordination.k8s.io": Retention(min(history_seconds, 1800.0), 64 * mebibyte),
        "events": Retention(min(history_seconds, 3600.0), 64 * mebibyte),
    }


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
        self.settings = settings
        self._waiting = waiting or {}
        self.known = known
        self._around = around
        self._clock = clock or Clock()
        self._journal = journal
        self._reserve = reserve
        recovered = journal.recover()
        self.store = Store(recovered, journal)
        self._index = index_beside(journal)
        self._log_budget = LogBudget(journal)
        self._log_budget.learn(self.store)
        steps = SERVING_STEPS if settings.publishes_authority else DEFAULT_STEPS
        self._assembly = Assembly(
            self.store,
            known.tokens.tokens(),
            known.signing_key(),
            Remembered(chain=AdmissionChain(warning_steps(steps, settings.controllers))),
            series=series_labels(),
        )
        self._hub = self._assembly.hub
        for told in (*recovered.reports, *damage_told(self.store)):
            log.error("%s", told)
        self._warn(self._assembly.troubles)
        self._routes: ServerRoutes | None = None
        self._exporter: Exporter | None = None
        self._tasks: list[asyncio.Task[None]] = []  # which end with the server

    async def serve(self, stopped: asyncio.Event, ready: Callable[[int], None]) -> None:
        """Until `stopped` is set. `ready` is told the port once clients can come."""
        loop = asyncio.get_running_loop()
        desk, api = self._assembly.desk, self._assembly.api
        self.watches = Watches(loop, self._hub, self._clock)
        self._asked = NodeConnections(loop, self.known)
        self._signed_in = SignedIn(
            api.sign_in,
            self.known.tokens,
            self._assembly.access_grants,
            (self.watches, self._asked),
            self._clock,
        )
        kept = retention(self.settings.history_seconds)
        self.driver = driver = StoreDriver(
            loop, self.store, self._journal, self._publish, kept, self._clock, reserve=self._reserve
        )
        host = ServingHost(api, driver, self._signed_in.take_new_tokens, self._clock)
        self._expirer = EventExpirer(host, EventsKept(self.settings.event_ttl_seconds), self._clock)
        self._signing = Signing(host, self.known, self._clock)
        self._granting = Granting(host, self._journal, self._clock)
        self._exporter = started_exporter(self.settings.traces)
        tracer = tracer_of(self._exporter, self.settings.traces)
        self._chaos = chaos = Chaos(loop, host, self.store, self._assembly.served, self._clock)
        chaos.learn()
        self._planes = Planes(
            loop,
            lambda failed: PlaneDriver(
                loop, self._plane(), host, self.store, hub=self._hub, clock=self._clock, failed=failed,
                tracer=tracer, chaos=chaos.striking, tape=self.settings.tape,
            ),
        )  # fmt: skip
        self._answering = Answering(loop)
        self._meter = RunMeter(
            host,
            self._journal,
            self._index,
            self._answering,
            lambda: self._samples(desk, handler),
            self._clock,
            lambda: bool(self.store.short),
        )
        self._monitoring = Monitoring(
            lambda: self._planes.plane, self.store, self._journal, self._assembly.served, self._clock
        )
        self._hearing = self._all_hearing()
        driver.start()
        if isinstance(self._index, DecisionIndexFile):
            self._index.start()
        publishes = self.settings.publishes_authority
        await ensure_initial_objects(host, self.known.ca_certificate.read_text() if publishes else "")
        if self.settings.openid is not None:
            keys = OpenIdKeys(self.settings.openid.issuer, self.settings.openid_authority)
            api.sign_in.openid = OpenIdTokens(self.settings.openid, keys.verify)
            self._in_background(keys.run())
        self._signing.learn_all()
        self._in_background(self._signing.run())
        self._expirer.learn_all()
        self._in_background(self._expirer.run())
        self._in_background(follow_wall_clock(self._clock, self._planes.stepped))
        self._reports = PlaneReports(self._journal, self._index, self._answering, driver.submit, self._clock)
        self._reports.chaos, chaos.elsewhere = chaos.running, self._reports.injected
        lost = LostCounts(self._journal, self._index, self._answering, driver.note)
        self._reports.begins = lost.begins
        self._sources = Sources(
            self.store,
            self._journal,
            lambda: self._planes.plane,
            self._clock,
            self._index,
            self._reports.leading,
        )
        self._in_background(RecordCounts(host, self._sources).run())
        began = self._clock()
        self._planes.start()
        self._monitoring.start()
        self._in_background(self._monitoring.run())
        self._in_background(chaos.run())
        self._granting.learn_all()
        self._in_background(self._granting.run())
        leads = PLANE_LEASE if self.settings.controllers else CONTROL_LEASE
        self._in_background(Unled(host, self._clock, leads).run())
        self._meter.learn_all()
        self._in_background(self._meter.run())
        self._turns = Turns(loop, self._assembly.flow_control, self.store, self._clock.steady)
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
        await ensure_own_service(host, self.settings.listen, port)
        lost.begins(self._planes.plane.leadership.identity, began)
        self._in_background(self._signed_in.follow())
        self.renewing = Renewing(
            self.known, self.settings.listen, self._clock, self._renewed, lambda: own_address(self.store)
        )
        self._in_background(self.renewing.run())
        self._routes = ServerRoutes(loop, self._clock) if self.settings.nodes else None
        if self._routes is not None:
            self._routes.learn_all(self.store)  # before the agents, which find the addresses taken
        nodes = LocalNodes(self.settings, self.known.tokens, self._waiting, self._clock)
        nodes.start(server_url(self.settings.listen, port))
        ready(port)
        self._in_background(self._first_run(host))
        await stopped.wait()
        for task in self._tasks:
            task.cancel()
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

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

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
        deciders = default_deciders() if self.settings.controllers else serving_deciders()
        hollow = self.settings.hollow_nodes
        if hollow:
            deciders = (*deciders, hollow_decider("hollow-", hollow))
        # The data directory has one process at a time: who restarts on it is the same holder and need not wait.
        return Plane(
            socket.gethostname(),
            deciders,
            Placer if self.settings.controllers else None,
            version=__version__,
        )

    @property
    def is_first_run(self) -> bool:
        return bool(self.known.created and self.settings.nodes and self.settings.sample)

    async def _first_run(self, host: ServingHost) -> None:
        if not self.is_first_run:
            return
        began = time.monotonic()
        if await first_run.make_sample(host, self.settings.nodes) and self.settings.banner:
            await first_run.Progress(self.store, began).tell(first_run.say, sys.stdout.isatty())

    def _publish(self, changes: tuple[CommittedChange, ...]) -> None:
        self._hearing(changes)

    def _all_hearing(self) -> Hearing:
        """Who hears of each commit. The rules that are in force come before anybody else."""
        return Hearing(
            rules=lambda changes: self._warn(self._assembly.observe(changes, self._clock())),
            watches=self._wake,
            expirer=self._expirer.observe,
            signing=self._signing.observe,
            log_budget=self._log_budget.observe,
            monitoring=self._monitoring.observe,
            chaos=self._chaos.observe,
            meter=self._meter.observe,
            granting=self._observe_grants,
            routes=self._observe_routes,
        )

    def _wake(self, changes: tuple[CommittedChange, ...]) -> None:
        woken = self._hub.publish(changes)
        self.watches.wake(woken)
        self.watches.end_of(self._assembly.custom.changed)
        self._planes.wake(woken)

    def _observe_grants(self, changes: tuple[CommittedChange, ...]) -> None:
        if self._granting.observe(changes):
            self._signed_in.end_what_is_not_granted()

    def _observe_routes(self, changes: tuple[CommittedChange, ...]) -> None:
        if self._routes is not None:
            self._routes.observe(changes)

    def _warn(self, troubles: Iterable[str]) -> None:
        for trouble in troubles:
            log.warning("%s", trouble)

    def _documents(self, desk: Desk, handler: Callable[[], Handler]) -> Documents:
        return mount_documents(
            desk=desk,
            store=self.store,
            answering=self._answering,
            samples=lambda: self._samples(desk, handler()),
            checks=lambda: self._planes.checks(self._planes.lags(), self._clock()),
            address=f"{self.settings.listen}:{self.settings.port}",
            sources=self._sources,
            reports=self._reports,
        )

    def _samples(self, desk: Desk, handler: Handler) -> Iterator[MetricSample]:
        lags = self._planes.lags()
        return server_samples(
            MeasuredParts(
                version=__version__,
                store=self.store,
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
                requests=handler.tally.requests,
                latencies=handler.tally.latencies,
                turns=self._turns,
                routes=self._routes,
                exporter=self._exporter,
                monitoring=self._monitoring,
            )
        )

    async def _listen(self, listener: Listener) -> int:
        return await listen(listener, self.settings, self.known, self._clock)

    def _renewed(self) -> None:
        self.listener.arriving.tls = server_tls(self.known)
        self._asked.renew()
