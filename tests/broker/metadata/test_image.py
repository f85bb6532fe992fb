"""Records and the image they replay into (broker/metadata/records.py, broker/metadata/image.py)."""

from __future__ import annotations

import dataclasses
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.broker.metadata import records as r
from minikafka.broker.metadata.image import MetadataImage
from minikafka.proof.small_worlds.controller.lone_controller import LoneController as World

U = UUID(int=0x0102030405060708090A0B0C0D0E0F10)
SAMPLES = [
    r.RegisterBrokerRecord(1, False, U, 5, (r.BrokerEndpoint("PLAINTEXT", "h", 65535),),
                           (r.BrokerFeature("metadata.version", 7, 30),), "rack", log_dirs=(U,)),
    r.UnregisterBrokerRecord(1, 5), r.TopicRecord("tö", U), r.RemoveTopicRecord(U), r.NoOpRecord(),
    r.PartitionRecord(0, U, (1, 2), (1,), leader=1, eligible_leader_replicas=(2,), last_known_elr=(2,),
                      leader_recovery_state=1, directories=(U, U)),
    r.PartitionChangeRecord(0, U), r.PartitionChangeRecord(0, U, isr=(), leader=-1, eligible_leader_replicas=(1,)),
    r.ConfigRecord(2, "t", "retention.ms", "1"), r.ConfigRecord(2, "t", "retention.ms", None),
    r.FeatureLevelRecord("metadata.version", 30), r.ProducerIdsRecord(1, 5, 1000),
    r.BrokerRegistrationChangeRecord(1, 5, fenced=-1, in_controlled_shutdown=1),
    r.ClearElrRecord("t"),
    r.DelegationTokenRecord("User:a", "User:b", ("User:c", "User:d"), 1, 3, 2, "id"), r.RemoveDelegationTokenRecord("id"),
    r.ClientQuotaRecord((r.QuotaEntityData("client-id", "c"), r.QuotaEntityData("user", None)), "producer_byte_rate", 0.1,
                        False),
    r.AccessControlEntryRecord(U, 2, "t", 3, "User:a", "*", 3, 3), r.RemoveAccessControlEntryRecord(U),
    r.UserScramCredentialRecord("u", 2, b"salt", b"stored", b"", 4096), r.RemoveUserScramCredentialRecord("u", 1),
]
TOKEN = r.DelegationTokenRecord("User:a", "User:b", (), 1, 3, 2, "id")
ACL = r.AccessControlEntryRecord(UUID(int=5), 2, "t", 3, "User:a", "*", 3, 3)


@pytest.mark.parametrize("record", SAMPLES, ids=lambda rec: type(rec).__name__)
def test_what_was_written_is_read_and_no_prefix_is(record):
    """Fails if a field is forgotten or misplaced, or if a torn record is taken for one (I-REC-1, I-REC-2)."""
    data = r.encode(record)
    assert r.decode(data) == record
    for cut in range(len(data)):
        with pytest.raises(r.RecordError):
            r.decode(data[:cut])
    with pytest.raises(r.RecordError):
        r.decode(data + b"\0")


@pytest.mark.parametrize(("record", "written"), [
    # the bytes of Apache Kafka 4.3's MetadataRecordSerde for the same records
    (r.TopicRecord("foo", U), "01020004666f6f" + U.hex + "00"),
    (r.PartitionChangeRecord(3, U, isr=(1, 2), leader=1),
     "010502" + "00000003" + U.hex + "02" + "0009" + "030000000100000002" + "0104" + "00000001"),
    (r.BrokerRegistrationChangeRecord(1, 7, fenced=-1),
     "011102" + "00000001" + "0000000000000007" + "01" + "0001" + "ff"),
    (r.FeatureLevelRecord("metadata.version", 30), "010c0011" + b"metadata.version".hex() + "001e" + "00"),
    (r.ClientQuotaRecord((r.QuotaEntityData("client-id", "c"), r.QuotaEntityData("user", None)), "producer_byte_rate", 0.0,
                         True),
     "010e00030a636c69656e742d6964026300057573657200001370726f64756365725f627974655f7261746500000000000000000100"),
    (r.ClientQuotaRecord((r.QuotaEntityData("user", "a"),), "producer_byte_rate", 5.0, False),
     "010e000205757365720261001370726f64756365725f627974655f7261746540140000000000000000"),
    (r.UserScramCredentialRecord("u", 1, b"salt", b"\1" * 3, b"\2" * 2, 4096),
     "010b00027501" + "0573616c74" + "04010101" + "030202" + "00001000" + "00"),
    (r.DelegationTokenRecord("User:a", "b", ("c",), 1, 3, 2, "id"),
     "010a00" + "07557365723a61" + "0262" + "020263" + "".join(f"{n:016x}" for n in (1, 3, 2)) + "036964" + "00"),
    (r.RemoveDelegationTokenRecord("id"), "011a00" + "036964" + "00"),
    (r.RemoveUserScramCredentialRecord("ok", 2), "011600036f6b0200"),
    (r.AccessControlEntryRecord(U, 2, "t", 4, "User:a", "*", 3, 2),
     "011200" + U.hex + "02" + "0274" + "04" + "07557365723a61" + "022a" + "03" + "02" + "00"),
    (r.RemoveAccessControlEntryRecord(U), "011300" + U.hex + "00"),
    (r.NoOpRecord(), "01140000"), (r.ClearElrRecord("t"), "011c00" + "0274" + "00"),
    (SAMPLES[5],
     "010302000000000102030405060708090a0b0c0d0e0f10030000000100000002020000000101010000000100000000000000"
     "00030102030405060708090a0b0c0d0e0f100102030405060708090a0b0c0d0e0f1003000101010502000000020205020000"
     "0002"),
    (SAMPLES[0],
     "01000300000001000102030405060708090a0b0c0d0e0f100000000000000005020a504c41494e544558540268ffff000000"
     "02116d657461646174612e76657273696f6e0007001e00057261636b0100010011020102030405060708090a0b0c0d0e0f10"),
])
def test_the_bytes_are_kafkas(record, written):
    """Fails if key, version, compact lengths, tags or byte order change."""
    assert r.encode(record).hex() == written


@given(st.binary(max_size=80))
def test_garbage_never_gets_further_than_an_error(data):
    """Fails if decode() lets another exception out or loops."""
    try:
        record = r.decode(b"\x01" + data)
    except (r.RecordError, UnicodeDecodeError):
        return
    assert dataclasses.is_dataclass(record)


def test_equal_logs_make_equal_images():
    """Fails if apply() depends on anything but image and record (I-IMG-1), or copy() shares what apply() changes."""
    w = World()
    w.create("t", [1, 2, 3], [2, 3, 1])
    w.append([SAMPLES[-5], SAMPLES[-2], ACL])
    w.silence(1)
    replayed = MetadataImage("cluster")
    replayed.replay(w.log, len(w.log) - 1, 1)
    twin = replayed.copy()
    assert _state(replayed) == _state(w.image) == _state(twin)
    twin.apply(r.RemoveTopicRecord(w.image.topics["t"].id))
    twin.apply(dataclasses.replace(SAMPLES[-5], key="consumer_byte_rate"))
    twin.apply(r.RemoveUserScramCredentialRecord("u", 2))
    twin.apply(r.RemoveAccessControlEntryRecord(ACL.id))
    twin.apply(TOKEN)
    assert _state(replayed) == _state(w.image)


def test_a_snapshot_makes_an_equal_image():
    """Fails if to_records() forgets something, or load() leaves something of the image before (I-SNAP-3)."""
    w = World()
    w.create("t", [1, 2, 3], [2, 3, 1], retention_ms="5")
    w.append([r.ProducerIdsRecord(1, 5, 2000), r.ConfigRecord(4, "", "log.retention.ms", "7"), SAMPLES[-5], SAMPLES[-2], ACL,
              r.PartitionChangeRecord(0, w.image.topics["t"].id, isr=(), leader=-1, eligible_leader_replicas=(2,),
                                      last_known_elr=(3,), leader_recovery_state=1, adding_replicas=(3,))])  # fmt: skip
    w.silence(2)
    loaded = MetadataImage("cluster")
    loaded.replay(w.log[:9], 8, 1)
    loaded.apply(r.TopicRecord("gone", U))
    loaded.apply(r.PartitionRecord(0, U, (1,), (1,), leader=1))
    gone = loaded.topics["gone"]
    loaded.take_changes()
    loaded.load([r.decode(r.encode(record)) for record in w.image.to_records()], w.image.offset, 1)
    assert _state(loaded) == _state(w.image) and loaded.topic_by_id(U) is None
    changes = loaded.take_changes()
    assert changes.deleted == {U: gone} and list(changes.partitions) == [("t", 0), ("t", 1)]
    assert 2 in changes.brokers and (2, "t") in changes.configs and changes.quotas
    assert list(changes.acls) == [ACL.id]
    loaded.load(w.image.to_records(), w.image.offset, 1)
    assert not loaded.take_changes()


def _state(image):
    topics = {name: (topic.id, topic.partitions) for name, topic in image.topics.items()}
    return (image.brokers, topics, image.configs, image.features, image.client_quotas, image.scram, image.acls,
            image.next_producer_id, image.offset)


def test_the_leader_epoch_grows_whenever_a_record_names_a_leader():
    """Fails if I-IMG-2 is broken: a re-elected leader must get a new epoch too (rule 28)."""
    w = World()
    p = w.create()
    w.append([r.PartitionChangeRecord(0, p.topic_id, leader=1)])
    assert (w.partition().leader_epoch, w.partition().partition_epoch) == (1, 1)
    w.append([r.PartitionChangeRecord(0, p.topic_id, isr=(1,))])
    assert (w.partition().leader_epoch, w.partition().partition_epoch) == (1, 2)


def test_a_removed_topic_takes_its_configuration_along():
    """Fails if a topic made again under the name inherits the old one's settings (I-IMG-3)."""
    w = World()
    p = w.create("t", [1], retention_ms="5")
    w.append([r.RemoveTopicRecord(p.topic_id)])
    assert w.image.topics == {} and w.image.topic_configs("t") == {} and w.image.topic_by_id(p.topic_id) is None


def test_changes_are_taken_once():
    """Fails if a touched partition, topic, broker or configuration is forgotten or told twice."""
    image = MetadataImage()
    w = World(brokers=1)
    w.create("t", [1], [1], retention_ms="5")
    image.replay(w.log, len(w.log) - 1, 1)
    changes = image.take_changes()
    assert list(changes.partitions) == [("t", 0), ("t", 1)] and list(changes.topics) == ["t"]
    assert list(changes.brokers) == [1] and (2, "t") in changes.configs and changes.features
    assert not image.take_changes()
    topic = image.topics["t"]
    image.apply(r.RemoveTopicRecord(topic.id))
    assert image.take_changes().deleted == {topic.id: topic}


def test_an_entity_of_quotas_is_one_in_whatever_order_it_was_written():
    """Fails if the parts' order makes two entities of one, or an entity without quotas stays."""
    image, (record, parts) = MetadataImage(), (SAMPLES[-5], SAMPLES[-5].entity)
    image.apply(record)
    image.apply(dataclasses.replace(record, entity=parts[::-1], value=7.0))
    assert image.client_quotas == {(("client-id", "c"), ("user", None)): {"producer_byte_rate": 7.0}}
    image.apply(dataclasses.replace(record, remove=True))
    assert image.client_quotas == {} and image.take_changes().quotas


def test_the_offset_of_a_registration_is_kept():
    """Fails if unfencing compares with the offset of the batch instead of the record's own."""
    image = MetadataImage()
    image.replay([r.NoOpRecord(), SAMPLES[0], r.NoOpRecord()], 12, 3)
    assert image.brokers[1].registration_offset == 11 and (image.offset, image.epoch) == (12, 3)
