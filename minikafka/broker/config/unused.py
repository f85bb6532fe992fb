"""Kafka's other broker configurations: names that a file written for Kafka may hold, and that do nothing here.

Owns: UNUSED. Two kinds: TUNING is taken, and the broker says at its start that it has no effect; of REFUSED (who may do
what, plug-ins, tiered storage) only the default is taken, for whoever sets it relies on it.
A line is: name, type (* may be changed at run time), default (- none, "" empty), importance, allowed values.
What Kafka does differently: it has them. Source: AbstractKafkaConfig of Kafka 4.3.0, asked through ConfigDef.
"""

from __future__ import annotations

from minikafka.broker.config.definition import Config, OneOf, Range, Validator, parsed

TUNING = """
# threads, sockets, purgatories, metrics, quotas
num.io.threads INT* 8 high 1..
num.replica.alter.log.dirs.threads INT - high
background.threads INT* 10 high 1..
socket.connection.setup.timeout.ms LONG 10000 medium
socket.connection.setup.timeout.max.ms LONG 30000 medium
metadata.log.segment.bytes INT 1073741824 high 8388608..
metadata.log.segment.ms LONG 604800000 high
socket.send.buffer.bytes INT 102400 high
socket.receive.buffer.bytes INT 102400 high
socket.listen.backlog.size INT 50 medium 1..
max.connections.per.ip.overrides STRING* "" medium
max.connection.creation.rate INT* 2147483647 medium 0..
queued.max.requests INT 500 high 1..
num.network.threads INT* 3 high 1..
controller.socket.timeout.ms INT 30000 medium
replica.socket.receive.buffer.bytes INT 65536 high
fetch.purgatory.purge.interval.requests INT 1000 medium
producer.purgatory.purge.interval.requests INT 1000 medium
delete.records.purgatory.purge.interval.requests INT 1 medium
group.coordinator.rebalance.protocols LIST classic,consumer,streams medium consumer|classic|share|streams
group.coordinator.threads INT 4 high 1..
group.coordinator.background.threads INT 2 high 1..
group.coordinator.append.linger.ms INT -1 medium -1..
offsets.topic.compression.codec INT 0 high
group.coordinator.cached.buffer.max.bytes INT* 1048588 medium 524288..
cordoned.log.dirs LIST* "" medium
num.recovery.threads.per.data.dir INT* 2 high 1..
log.dir.failure.timeout.ms LONG 30000 low 1..
transaction.state.log.load.buffer.size INT 5242880 high 1..
transaction.partition.verification.enable BOOLEAN* true low
transaction.remove.expired.transaction.cleanup.interval.ms INT 3600000 low 1..
controller.quorum.auto.join.enable BOOLEAN false low
controller.quorum.fetch.snapshot.max.bytes INT 1048576 low 1..
controller.quorum.fetch.max.bytes INT 1048576 low 1..
metrics.num.samples INT 2 low 1..
metrics.sample.window.ms LONG 30000 low 1..
metrics.recording.level STRING INFO low
kafka.metrics.polling.interval.secs INT 10 low 1..
replication.quota.window.num INT 11 low 1..
alter.log.dirs.replication.quota.window.num INT 11 low 1..
replication.quota.window.size.seconds INT 1 low 1..
alter.log.dirs.replication.quota.window.size.seconds INT 1 low 1..
add.partitions.to.txn.retry.backoff.max.ms INT 100 high 0..
add.partitions.to.txn.retry.backoff.ms INT 20 high 1..
# groups of the other kinds: share (KIP-932), streams (KIP-1071)
group.share.session.timeout.ms INT 45000 medium 1..
group.share.min.session.timeout.ms INT 45000 medium 1..
group.share.max.session.timeout.ms INT 60000 medium 1..
group.share.heartbeat.interval.ms INT 5000 medium 1..
group.share.min.heartbeat.interval.ms INT 5000 medium 1..
group.share.max.heartbeat.interval.ms INT 15000 medium 1..
group.share.max.size INT 200 medium 1..1000
group.share.assignors LIST simple medium
group.share.assignment.interval.ms INT* 1000 medium 0..
group.share.min.assignment.interval.ms INT 0 medium 0..
group.share.max.assignment.interval.ms INT 15000 medium 0..
group.streams.session.timeout.ms INT 45000 medium 1..
group.streams.min.session.timeout.ms INT 45000 medium 1..
group.streams.max.session.timeout.ms INT 60000 medium 1..
group.streams.heartbeat.interval.ms INT 5000 medium 1..
group.streams.min.heartbeat.interval.ms INT 5000 medium 1..
group.streams.max.heartbeat.interval.ms INT 15000 medium 1..
group.streams.max.size INT 2147483647 medium 1..
group.streams.num.standby.replicas INT 0 medium 0..
group.streams.max.standby.replicas INT 2 medium 0..
group.streams.initial.rebalance.delay.ms INT 3000 medium 0..
group.streams.assignment.interval.ms INT* 1000 medium 0..
group.streams.min.assignment.interval.ms INT 0 medium 0..
group.streams.max.assignment.interval.ms INT 15000 medium 0..
group.share.delivery.count.limit INT 5 medium 2..10
group.share.max.delivery.count.limit INT 10 medium 5..25
group.share.min.delivery.count.limit INT 2 medium 2..5
group.share.record.lock.duration.ms INT 30000 medium 1000..3600000
group.share.min.record.lock.duration.ms INT 15000 medium 1000..30000
group.share.max.record.lock.duration.ms INT 60000 medium 30000..3600000
group.share.partition.max.record.locks INT 2000 medium 100..10000
group.share.max.partition.max.record.locks INT 4000 medium 2000..10000
group.share.min.partition.max.record.locks INT 100 medium 100..2000
share.fetch.purgatory.purge.interval.requests INT 1000 medium
group.share.max.share.sessions INT 2000 medium 1..
share.coordinator.state.topic.num.partitions INT 50 high 1..
share.coordinator.state.topic.replication.factor SHORT 3 high 1..
share.coordinator.state.topic.min.isr SHORT 2 high 1..
share.coordinator.state.topic.segment.bytes INT 104857600 high 1..
share.coordinator.threads INT 1 medium 1..
share.coordinator.snapshot.update.records.per.snapshot INT 500 medium 0..500
share.coordinator.load.buffer.size INT 5242880 high 1..
share.coordinator.state.topic.compression.codec INT 0 high
share.coordinator.append.linger.ms INT -1 medium -1..
share.coordinator.write.timeout.ms INT 5000 high 1..
share.coordinator.cached.buffer.max.bytes INT* 1048588 medium 524288..
telemetry.max.bytes INT 1048576 low 1..
"""

REFUSED = """
# who may do what, and encryption
authorizer.class.name STRING "" low
sasl.mechanism.controller.protocol STRING GSSAPI high
connection.failed.authentication.delay.ms INT 100 low 0..
security.inter.broker.protocol STRING PLAINTEXT medium PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL
connections.max.reauth.ms LONG 0 medium
sasl.server.max.receive.size INT 524288 medium
security.providers STRING - low
principal.builder.class CLASS* org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder medium
ssl.client.auth STRING* none medium required|requested|none
ssl.principal.mapping.rules STRING DEFAULT low
ssl.allow.dn.changes BOOLEAN false low
ssl.allow.san.changes BOOLEAN false low
ssl.protocol STRING* TLSv1.3 medium
ssl.provider STRING* - medium
ssl.enabled.protocols LIST* TLSv1.2,TLSv1.3 medium
ssl.keystore.type STRING* JKS medium
ssl.keystore.location STRING* - medium
ssl.keystore.password PASSWORD* - medium
ssl.key.password PASSWORD* - medium
ssl.keystore.key PASSWORD* - medium
ssl.keystore.certificate.chain PASSWORD* - medium
ssl.truststore.type STRING* JKS medium
ssl.truststore.location STRING* - medium
ssl.truststore.password PASSWORD* - medium
ssl.truststore.certificates PASSWORD* - medium
ssl.keymanager.algorithm STRING* SunX509 medium
ssl.trustmanager.algorithm STRING* PKIX medium
ssl.endpoint.identification.algorithm STRING* https low
ssl.secure.random.implementation STRING* - low
ssl.cipher.suites LIST* "" medium
ssl.engine.factory.class CLASS* - low
sasl.mechanism.inter.broker.protocol STRING* GSSAPI medium
sasl.enabled.mechanisms LIST* GSSAPI medium
sasl.server.callback.handler.class CLASS - medium
sasl.kerberos.principal.to.local.rules LIST* DEFAULT medium
sasl.jaas.config PASSWORD* - medium
sasl.client.callback.handler.class CLASS - medium
sasl.login.class CLASS - medium
sasl.login.callback.handler.class CLASS - medium
sasl.kerberos.service.name STRING* - medium
sasl.kerberos.kinit.cmd STRING* /usr/bin/kinit medium
sasl.kerberos.ticket.renew.window.factor DOUBLE* 0.8 medium
sasl.kerberos.ticket.renew.jitter DOUBLE* 0.05 medium
sasl.kerberos.min.time.before.relogin LONG* 60000 medium
sasl.login.refresh.window.factor DOUBLE* 0.8 medium
sasl.login.refresh.window.jitter DOUBLE* 0.05 medium
sasl.login.refresh.min.period.seconds SHORT* 60 medium
sasl.login.refresh.buffer.seconds SHORT* 300 medium
sasl.login.connect.timeout.ms INT - low
sasl.login.read.timeout.ms INT - low
sasl.login.retry.backoff.max.ms LONG 10000 low
sasl.login.retry.backoff.ms LONG 100 low
sasl.oauthbearer.jwt.retriever.class CLASS org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever medium
sasl.oauthbearer.jwt.validator.class CLASS org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator medium
sasl.oauthbearer.scope STRING - medium
sasl.oauthbearer.client.credentials.client.id STRING - medium
sasl.oauthbearer.client.credentials.client.secret PASSWORD - medium
sasl.oauthbearer.assertion.algorithm STRING RS256 medium
sasl.oauthbearer.assertion.claim.aud STRING - medium
sasl.oauthbearer.assertion.claim.exp.seconds INT 300 low 0..86400
sasl.oauthbearer.assertion.claim.iss STRING - medium
sasl.oauthbearer.assertion.claim.jti.include BOOLEAN false medium
sasl.oauthbearer.assertion.claim.nbf.seconds INT 60 low 0..3600
sasl.oauthbearer.assertion.claim.sub STRING - medium
sasl.oauthbearer.assertion.file STRING - medium
sasl.oauthbearer.assertion.private.key.file STRING - medium
sasl.oauthbearer.assertion.private.key.passphrase PASSWORD - medium
sasl.oauthbearer.assertion.template.file STRING - medium
sasl.oauthbearer.scope.claim.name STRING scope low
sasl.oauthbearer.sub.claim.name STRING sub low
sasl.oauthbearer.token.endpoint.url STRING - medium
sasl.oauthbearer.jwks.endpoint.url STRING - medium
sasl.oauthbearer.jwks.endpoint.refresh.ms LONG 3600000 low
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms LONG 100 low
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms LONG 10000 low
sasl.oauthbearer.clock.skew.seconds INT 30 low
sasl.oauthbearer.expected.audience LIST "" low
sasl.oauthbearer.expected.issuer STRING - low
delegation.token.secret.key PASSWORD - medium
delegation.token.max.lifetime.ms LONG 604800000 medium 1..
delegation.token.expiry.time.ms LONG 86400000 medium 1..
delegation.token.expiry.check.interval.ms LONG 3600000 low 1..
# plug-ins
config.providers LIST* "" low
early.start.listeners LIST - high
create.topic.policy.class.name CLASS - low
alter.config.policy.class.name CLASS - low
metric.reporters LIST* org.apache.kafka.common.metrics.JmxReporter low
kafka.metrics.reporters LIST "" low
client.quota.callback.class CLASS - low
# tiered storage
remote.log.storage.system.enable BOOLEAN false medium
remote.log.storage.manager.impl.prefix STRING rsm.config. medium
remote.log.metadata.manager.impl.prefix STRING rlmm.config. medium
remote.log.storage.manager.class.name STRING - medium
remote.log.storage.manager.class.path STRING - medium
remote.log.metadata.manager.class.name STRING org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager medium
remote.log.metadata.manager.class.path STRING - medium
remote.log.metadata.manager.listener.name STRING - medium
remote.log.metadata.custom.metadata.max.bytes INT 128 low 0..
remote.log.index.file.cache.total.size.bytes LONG* 1073741824 low 1..
remote.log.manager.thread.pool.size INT 2 medium 1..
remote.log.manager.copier.thread.pool.size INT* 10 medium 1..
remote.log.manager.expiration.thread.pool.size INT* 10 medium 1..
remote.log.manager.follower.thread.pool.size INT* 2 medium 1..
remote.log.manager.task.interval.ms LONG 30000 low 1..
remote.log.reader.threads INT* 10 medium 1..
remote.log.reader.max.pending.tasks INT 100 medium 1..
remote.log.manager.copy.max.bytes.per.second LONG* 9223372036854775807 medium 1..
remote.log.manager.copy.quota.window.num INT 11 medium 1..
remote.log.manager.copy.quota.window.size.seconds INT 1 medium 1..
remote.log.manager.fetch.max.bytes.per.second LONG* 9223372036854775807 medium 1..
remote.log.manager.fetch.quota.window.num INT 11 medium 1..
remote.log.manager.fetch.quota.window.size.seconds INT 1 medium 1..
remote.fetch.max.wait.ms INT* 500 medium 1..
remote.list.offsets.request.timeout.ms LONG* 30000 medium 1..
follower.fetch.last.tiered.offset.enable BOOLEAN* false medium
transaction.two.phase.commit.enable BOOLEAN false low
"""  # noqa: E501  (a class name is longer than a line)


def _config(line: str, only_default: bool) -> Config:
    name, kind, default, importance, *valid = line.split(" ")
    return Config(name, kind.rstrip("*"), None if default == "-" else parsed(name, kind.rstrip("*"), default.strip('"')),
                  "One of Kafka's; it has no effect here.", _valid(*valid), importance.upper(), honoured=False,
                  only_default=only_default, dynamic=kind.endswith("*"))


def _valid(allowed: str = "") -> Validator | None:
    if ".." in allowed:
        low, high = allowed.split("..")
        return Range(int(low), int(high) if high else None)
    return OneOf(tuple(allowed.split("|"))) if allowed else None


UNUSED: dict[str, Config] = {
    config.name: config for text, refused in ((TUNING, False), (REFUSED, True))
    for config in (_config(line, refused) for line in text.splitlines() if line and not line.startswith("#"))}
