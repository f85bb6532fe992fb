"""A broker's life as the controller sees it: registered, fenced, unfenced, leaving.

    register -> fenced -> caught up with its registration -> unfenced -> ... -> controlled shutdown -> exit

Owns: incarnation id, broker epoch, the heartbeats.
Invariants: I-LIFE-1 the broker epoch is the metadata offset of this incarnation's registration (rule 29); every request
              to the controller carries it, and a wrong one gets STALE_BROKER_EPOCH (rule 31).
            I-LIFE-2 a broker is unfenced only after it has replayed its own registration (rule 30).
            I-LIFE-3 a broker that stops cleanly leads no partition when it exits, and the other brokers know that (rule 32).
            I-LIFE-4 an epoch is not replaced while the process runs: a broker that was unregistered stays away until it is
              started again.
What Kafka does differently: it listens for clients before it is unfenced; several log directories; a broker that was
unregistered waits for minutes before it stops.
Source: kafka.server.BrokerLifecycleManager; KIP-631, KIP-841 (fencing), KIP-966 (previous broker epoch).
"""

from __future__ import annotations

import logging
from asyncio import Future
from collections.abc import Callable, Sequence

from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.metadata.features import SUPPORTED
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.raft.shell.quorum import Quorum
from minikafka.broker.server.listeners import SECURITY_PROTOCOLS, Listener
from minikafka.broker.server.node import Node
from minikafka.protocol.apis import BrokerHeartbeatRequest, BrokerRegistrationRequest
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.lifecycle")

RETRY_S = 0.1
SHUTDOWN_TIMEOUT_S = 15.0
FATAL = (Err.INCONSISTENT_CLUSTER_ID, Err.UNSUPPORTED_VERSION, Err.INVALID_REGISTRATION)


class Lifecycle:
    """The registration and the heartbeats of this process."""

    def __init__(self, node: Node, quorum: Quorum, advertised: Sequence[Listener],
                 clean_epoch: Callable[[], int | None]) -> None:
        """`advertised`: what others learn of its listeners. `clean_epoch` returns this broker's epoch before its
        last shutdown if that was clean, else None."""
        self.node, self.env, self.quorum = node, node.env, quorum
        self._advertised, self._clean_epoch = advertised, clean_epoch
        self.incarnation = self.env.uuid()
        self.broker_epoch = -1
        self.state = "starting"  # starting, fenced, unfenced, shutdown (asked for), stopped
        self.channel = Channel(node, quorum)  # its own: heartbeats wait for no other request
        self._unfenced: Future[None] = self.env.future()
        self._may_stop: Future[None] = self.env.future()
        self._nudge: Future[None] | None = None
        self._hurried = False
        config = node.config
        self._interval = config["broker.heartbeat.interval.ms"] / 1000
        self._session = config["broker.session.timeout.ms"] / 1000

    async def start(self) -> None:
        """Register; return when this broker is unfenced in its own image."""
        self.env.spawn(self._live(), "lifecycle")
        await self._unfenced

    async def shutdown(self) -> None:
        """Ask the controller to move our leaders away, unless controlled.shutdown.enable is false; return when it allows the
        exit, or does not answer in time."""
        if self.broker_epoch < 0:
            self._enter("stopped")
            return
        if self.node.config["controlled.shutdown.enable"]:
            self._enter("shutdown")
            self._hurry()
            timer = self.env.later(SHUTDOWN_TIMEOUT_S, self._give_up)
            await self._may_stop
            timer.cancel()
        self._enter("stopped")
        self._hurry()
        self.channel.close()

    def on_metadata(self, image: MetadataImage) -> None:
        """Take over the state that our own registration has in `image`; send a heartbeat now if the controller must know."""
        own = image.brokers.get(self.node.node_id)
        if own is None or own.incarnation != self.incarnation:
            return
        if self.state in ("fenced", "unfenced"):
            self._enter("fenced" if own.fenced else "unfenced")
        if own.fenced or self.state == "shutdown":
            self._hurry()
        elif not self._unfenced.done():
            self._unfenced.set_result(None)

    # --- registration and heartbeats ------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        while self.state != "stopped":
            if self.broker_epoch < 0:
                pause = await self._register()
            else:
                pause = await self._heartbeat()
            await self._pause(pause)

    async def _register(self) -> float:
        """Register at the controller; return the seconds to wait before the next message."""
        message, version = self._registration(), BrokerRegistrationRequest.max_version
        try:
            answer = await self.channel.request(message, version, self._session)
        except TimeoutError as error:
            log.info("not registered yet: %s", error)
            return RETRY_S
        if answer.error_code in FATAL:
            raise KafkaError(Err(answer.error_code))
        if answer.error_code:  # DUPLICATE_BROKER_REGISTRATION: our predecessor's session has not run out yet
            log.info("not registered yet: %s", Err(answer.error_code).name)
            return RETRY_S
        self.broker_epoch = answer.broker_epoch
        if self.state == "starting":
            self._enter("fenced")
        self.on_metadata(self.node.image)
        return 0.0

    async def _heartbeat(self) -> float:
        """Send one heartbeat; return the seconds to wait before the next message."""
        message = BrokerHeartbeatRequest(
            broker_id=self.node.node_id, broker_epoch=self.broker_epoch,
            current_metadata_offset=self.quorum.applied - 1, want_fence=False,
            want_shut_down=self.state == "shutdown", offline_log_dirs=[])
        try:
            answer = await self.channel.request(message, BrokerHeartbeatRequest.max_version, self._session)
        except TimeoutError:
            return RETRY_S
        if answer.error_code == Err.STALE_BROKER_EPOCH:
            if not self._may_stop.done():  # it leads nothing that the controller would have to move first
                log.warning("this broker was unregistered (epoch %d): start it again to bring it back", self.broker_epoch)
                self._may_stop.set_result(None)
            return self._interval
        if answer.error_code:
            return RETRY_S
        if answer.should_shut_down and not self._may_stop.done():
            self._may_stop.set_result(None)
        return RETRY_S if self.state == "shutdown" else self._interval

    def _registration(self) -> BrokerRegistrationRequest:
        cls = BrokerRegistrationRequest
        listeners = [cls.Listener(name=one.name, host=one.host, port=one.port,
                                  security_protocol=SECURITY_PROTOCOLS[one.protocol]) for one in self._advertised]
        features = [cls.Feature(name=name, min_supported_version=low, max_supported_version=high)
                    for name, (low, high) in SUPPORTED.items()]
        clean = self._clean_epoch()  # after a clean shutdown this broker may stay an eligible leader (rule 33)
        return cls(
            broker_id=self.node.node_id, cluster_id=self.node.cluster_id, incarnation_id=self.incarnation,
            listeners=listeners, features=features, rack=self.node.config["broker.rack"],
            is_migrating_zk_broker=False, log_dirs=[], previous_broker_epoch=-1 if clean is None else clean)

    # --- small things ----------------------------------------------------------------------------------------------

    def _enter(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.env.trace("broker", id=self.node.node_id, state=state)

    def _give_up(self) -> None:
        if not self._may_stop.done():
            log.warning("the controller did not let us go within %.0f s; going anyway", SHUTDOWN_TIMEOUT_S)
            self._may_stop.set_result(None)

    def _hurry(self) -> None:
        """Send the next heartbeat now: there is news for the controller."""
        self._hurried = True
        if self._nudge is not None and not self._nudge.done():
            self._nudge.set_result(None)

    async def _pause(self, seconds: float) -> None:
        if seconds > 0 and not self._hurried and self.state != "stopped":
            self._nudge = self.env.future()
            timer = self.env.later(seconds, self._hurry)
            await self._nudge
            timer.cancel()
            self._nudge = None
        self._hurried = False
