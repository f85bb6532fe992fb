"""One broker: its parts, the order in which they start and stop, and the way metadata reaches them.

bytes -> server -> handler -> (a pure state machine decides, the log stores, the trace tells) -> response. Metadata comes from
the quorum as committed records and is replayed into the image; the changes go to the replicas and coordinators.

Owns: the parts and their order. The parts own everything else.
Invariants: the clients' listeners open only when this broker is unfenced and has replayed its registration.
            Every part sees metadata in the order of the log, one batch of records at a time. The image is ahead of
              the partitions while thousands of them are made or deleted: these are others' turns, too (turns.py).
What Kafka does differently: publishers on threads of their own; one listener may serve clients and brokers alike.
Source: kafka.server.BrokerServer, SharedServer; KIP-500, KIP-631.
"""

from __future__ import annotations

import logging

import minikafka.broker.handlers  # noqa: F401  (the handlers register themselves)
from minikafka.broker.authorizer.acl_control_manager import follow
from minikafka.broker.authorizer.api.enforcement import guarded
from minikafka.broker.authorizer.api.rules import GUARDS
from minikafka.broker.authorizer.standard_authorizer import authorizer_of
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.controller.shell.auto_topic_creation import TopicCreator
from minikafka.broker.controller.shell.broker_lifecycle import Lifecycle
from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import MetadataRecord
from minikafka.broker.quotas.throttling import ClientQuotas, Window
from minikafka.broker.raft.shell.quorum import Quorum
from minikafka.broker.replication.shell.metadata_publisher import MetadataPublisher
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.env import Env
from minikafka.broker.server.listeners import advertised, brokers_listener, nodes_and_clients
from minikafka.broker.server.node import Node
from minikafka.broker.server.peer import Peers
from minikafka.broker.server.registry import CLIENTS, INTERNAL, bound
from minikafka.broker.server.server import Server
from minikafka.broker.storage.shell.log_dir import LogDir
from minikafka.broker.transactions.shell.coordinator import TransactionCoordinator
from minikafka.broker.transactions.shell.producer_ids import ProducerIds
from minikafka.broker.transactions.shell.verification import Verification

log = logging.getLogger("minikafka.broker")


class Broker:
    """A node of the cluster: broker, controller, or both (`process.roles`)."""

    def __init__(self, env: Env, config: BrokerConfig) -> None:
        self.env, self.config = env, config
        self.node_id: int = config["node.id"]
        self.roles: list[str] = config["process.roles"]
        self.cluster_id: str = config["minikafka.cluster.id"]
        self.listeners = dict(zip((INTERNAL, CLIENTS), nodes_and_clients(config)))
        self.advertised = advertised(config)
        self.voters = parse_voters(config["controller.quorum.voters"])
        self.image = MetadataImage(self.cluster_id)
        self.peers = Peers(env, self.node_id, self.voters, self.image, brokers_listener(config))
        self.quotas = ClientQuotas(Window(config["quota.window.num"], config["quota.window.size.seconds"]),
                                   Window(config["controller.quota.window.num"],
                                          config["controller.quota.window.size.seconds"]))
        self.authorizer = authorizer_of(config["authorizer.class.name"], config["super.users"],
                                        config["allow.everyone.if.no.acl.found"])
        self.node = Node(self.node_id, self.cluster_id, env, config, self.image, self.quotas, self.peers, self.authorizer)
        self.quorum = Quorum(self.node, self)
        self.channel = Channel(self.node, self.quorum)
        self.controller = ActiveController(self.node, self.quorum)
        self.lifecycle = Lifecycle(self.node, self.quorum, self.advertised, lambda: self.replicas.log_manager.dir.clean_epoch)
        self.replicas = ReplicaManager(self.node, self.channel, self.lifecycle)
        self.publisher = MetadataPublisher(self.node, self.replicas, self.lifecycle)
        self.topic_creator = TopicCreator(self.node, self.channel)
        self.groups = GroupCoordinator(self.node, self.replicas, self.topic_creator)
        self.producer_ids = ProducerIds(self.node, self.channel, self.lifecycle)
        self.transactions = TransactionCoordinator(self.node, self.replicas, self.topic_creator, self.producer_ids)
        self.verification = Verification(self.node, self.transactions)
        # what handlers may ask for, see registry.handles(needs=...)
        self.parts = {type(part): part for part in (
            self.quorum, self.channel, self.controller, self.lifecycle, self.replicas, self.groups, self.topic_creator,
            self.transactions, self.producer_ids, self.verification)}
        self.internal = self._server(INTERNAL)
        self.clients: Server | None = None

    def _server(self, listener: str) -> Server:
        table = bound(listener, self.parts)
        if listener == CLIENTS and self.authorizer is not None:
            table = guarded(table, GUARDS)
        return Server(self.node, listener, table, self.listeners[listener])

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    # --- life --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start every part; return when this node serves (a broker: when it is unfenced)."""
        shown = ("replica.lag.time.max.ms", "broker.session.timeout.ms")
        self.env.trace("start", roles=self.roles, listeners=self.config["listeners"], voters=list(self.voters),
                       config={name: self.config[name] for name in shown})
        self._claim_metadata_folder()
        if self.is_broker:
            self.replicas.log_manager.open()
        await self.internal.start()
        await self.quorum.start()
        if self.is_broker:
            await self.lifecycle.start()
            self.replicas.start()
            self.groups.start()
            self.transactions.start()
            self.clients = self._server(CLIENTS)
            await self.clients.start()
        log.info("node %d serves", self.node_id)

    def _claim_metadata_folder(self) -> None:
        """Claim the metadata log's folder, if it is not the data folder, which is the replica manager's. Raises LogDirError."""
        config = self.config
        if not self.is_broker or config.metadata_dir != config.log_dir:
            LogDir(self.env.fs, config.metadata_dir, self.cluster_id, self.node_id).claim(self.env.uuid())

    async def stop(self) -> None:
        """Shut down under control: leaders move away first, then files are closed clean (rule 32)."""
        if self.is_broker:
            await self.lifecycle.shutdown()
        if self.clients is not None:
            self.clients.close()
        await self.quorum.stop()
        self.internal.close()
        if self.is_broker:
            self.replicas.close()
        self.env.trace("stop")
        self.env.cancel_tasks()

    # --- metadata, as the listener of the quorum -------------------------------------------------------------------

    async def handle_commit(self, records: list[MetadataRecord], offset: int, epoch: int) -> None:
        """Replay committed records, in order, and publish what changed; `offset` is that of the last record."""
        self.image.replay(records, offset, epoch, self.env.contained)
        await self._publish(records, offset, epoch)

    async def handle_load_snapshot(self, records: list[MetadataRecord], offset: int, epoch: int) -> None:
        """Load a snapshot in place of the records up to `offset`: at the start, or when the leader has deleted them."""
        self.image.load(records, offset, epoch)
        await self._publish([], offset, epoch)

    def handle_late_commit(self, offset: int) -> None:
        self.controller.committed(offset)

    def handle_leadership(self, is_leader: bool, epoch: int) -> None:
        self.controller.on_leadership(is_leader, epoch)

    async def _publish(self, records: list[MetadataRecord], offset: int, epoch: int) -> None:
        changes, contained = self.image.take_changes(), self.env.contained
        if changes.acls and self.authorizer is not None:
            with contained("new access lists"):
                follow(self.authorizer, self.image, changes.acls)
        if changes.quotas:
            with contained("new quotas"):
                self.quotas.update(self.image.client_quotas)
        if self.is_controller:
            with contained("answers of the controller"):
                self.controller.answer_committed(records, offset, epoch)
        if self.is_broker:
            self.lifecycle.on_metadata(self.image)
            await self.publisher.publish(self.image, changes)
            with contained("new metadata in the groups"):
                self.groups.apply_metadata(self.image, changes)


def parse_voters(texts: list[str]) -> dict[int, tuple[str, int]]:
    """Return {node id: (host, port)} for texts such as `1@127.0.0.1:9093`."""
    voters = {}
    for part in texts:
        node_id, _, address = part.strip().partition("@")
        host, _, port = address.rpartition(":")
        voters[int(node_id)] = (host, int(port))
    return voters
