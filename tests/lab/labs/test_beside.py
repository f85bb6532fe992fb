"""What a kernel does beside each cell (lab/beside.py): errors of clients and waits, cells that run again, long cells."""
from __future__ import annotations

import re
from typing import Any

import pytest

from minikafka.lab.trouble import FOLDED
from tests.lab.labs.kernel import run_cells

START = "cluster = Cluster(brokers=1, preset='class')"
TOPIC = "admin.create_topics({'t': {'num_partitions': 1, 'replication_factor': 1}}, wait_for_metadata=True)"
WAIT = "cluster.wait(lambda: cluster.leader('nobody') == 7, timeout=0.1)"
CELLS = {
    "import": "import os, signal, threading, time\nimport confluent_kafka, kafka, pandas\n"
              "from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer\n"
              "from minikafka import Cluster\nimport minikafka.lab\nfrom minikafka.lab.labs.lab00.experiment import Fleet",
    "table": "print(pandas.DataFrame({'record': range(62)}))",
    "start": START,
    "first": "first, old = cluster, [KafkaConsumer(bootstrap_servers=cluster.bootstrap)]",
    "start again": START,
    "ended": "print(first.closed, old[0]._closed, cluster.closed)",
    "admin": "admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)",
    "topic": TOPIC,
    "record": "KafkaProducer(bootstrap_servers=cluster.bootstrap).send('t', b'x').get().offset",
    "topic again": TOPIC,
    "no record": "print(KafkaConsumer(bootstrap_servers=cluster.bootstrap).end_offsets([kafka.TopicPartition('t', 0)]))",
    "topic from another cell": TOPIC + "  # again",
    "again soon": "clients = KafkaAdminClient, KafkaConsumer, KafkaProducer\n"
                  "print({each.DEFAULT_CONFIG['reconnect_backoff_max_ms'] for each in clients})",
    "fleet": "fleet = Fleet(cluster, 't')",
    "driving": "driver = fleet\nfirst_promise = cluster.wait(lambda: fleet.acknowledged)",
    "fleet again": "fleet = Fleet(cluster, 't')",
    "one drives": "print(sum(thread.name == 'fleet' for thread in threading.enumerate()))\nfleet.stop()",
    "other name": "cluster_2 = cluster",
    "slow": "time.sleep(\n    4.2)",
    "slow wait": "try:\n    cluster.wait(lambda: cluster.leader('nobody') == 7, timeout=4.5)\nexcept TimeoutError:\n    pass",
    "wait": WAIT,
    "step again": "from minikafka.lab.again import step\nstep(cluster, 'the crash')\nstep(cluster, 'the crash')",
    "moving": "raise kafka.errors.RebalanceInProgressError()",
    "moving, confluent": "raise confluent_kafka.KafkaException(confluent_kafka.KafkaError(27))",
    "own": "1 / 0",
    "elsewhere": "from tools.web.fallbacks import ConfluentKafka\nConfluentKafka.Producer({})",
    "own syntax": "1 +",
    "own value": "producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, max_block_ms=500)\nproducer.send('t', 'text')",
    "killed": "cluster.kill(1)\n" + WAIT,
    "client": "producer.send('t', b'x').get(timeout=0.1)",
    "folded": "%tb",
    "mended": "cluster.restart(1)",
    "its file": "file = next(cluster.folder.rglob('*.properties'))",
    "died": "os.kill(cluster.pid(1), signal.SIGKILL)\ncluster._nodes.children[1].process.wait()\ncluster.leader('t')",
    "close": "cluster.close()",
    "after: call": "cluster.kill(1)",
    "after: old client": "admin.list_topics()",
    "after: send": "producer.send('t', b'x')",
    "after: new client": "KafkaProducer(bootstrap_servers=cluster.bootstrap)",
    "after: confluent": "confluent_kafka.Producer(cluster.for_confluent())",
    "after: fleet": "fleet = Fleet(cluster, 't')",
    "after: file": "text = file.read_bytes()",
    "after: nothing there": "list(cluster.folder.glob('node-1'))[0]",
    "after: work of the lab": "{'driver': driver}[driver.__dict__ and 'gone']",
    "own, after": "file = open('/gone')",
    "own list, after": "[][0]",
}


@pytest.fixture(scope="module")
def ran() -> dict[str, tuple[str, list[str]]]:
    """By cell: what stands below it in the end, without what is HTML, and every HTML that was shown on the way."""
    return {name: ("".join(map(text, outputs)), shown) for name, (outputs, shown) in run_cells(CELLS).items()}


def text(output: Any) -> str:
    """What a reader sees of an output: of an error the traceback."""
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback) if output.output_type == "error" else output.get("text", ""))


STARTED = "Run the cell with the line `cluster = Cluster(brokers=1, preset='class')`, then those after it."
ENDED = f"The cluster `cluster` has ended. {STARTED}"
SAID = {
    "elsewhere": "librdkafka does not run in a browser: this cell needs `make lab`, on a machine.",
    "topic from another cell": "Topic 't' already exists. Go on with the next cell. To begin anew, start the cluster again: "
                   f"r{STARTED[1:]}",
    "wait": "waited 0.1 s in vain for: `cluster.leader('nobody') == 7`; the last answer was False. The cluster itself is well: "
            "run the cells before this one, then this one again.",
    "step again": f"The step “the crash” was done before: go on with the next cell. To see it again, "
                  f"{STARTED[0].lower()}{STARTED[1:]}",
    "died": "node 1 died (signal SIGKILL). Another program has killed it, or Linux has, for want of memory. The memory is full: "
            "shut down the kernels of other notebooks, then start the cluster again. Start it again with `cluster.mend()` in a "
            "cell of your own, then run this cell again.",
} | dict.fromkeys(["moving", "moving, confluent"], "The group is rebalancing, so a rejoin is needed. The group is "
                  "being shared out anew; that takes a moment. Run this cell again.") | dict.fromkeys(
    [name for name in CELLS if name.startswith("after:")], ENDED)


@pytest.mark.parametrize("name", SAID)
def test_an_error_has_the_state_and_the_remedy(ran, name):
    """Fails if a traceback of a client or of our own code is shown, if a lambda is named, or if no remedy is."""
    assert ran[name][0] == f"{SAID[name]} {FOLDED}"


@pytest.mark.parametrize("name", ["killed", "client"])
def test_the_picture_has_the_reason(ran, name):
    """Fails if the sentence of the picture is missing where a broker is out, or the call that brings it back."""
    assert ran[name][0].endswith(f"Mend it with `cluster.restart(1)` in a cell of your own, then run this cell again. {FOLDED}")
    assert "1 controller is out" in ran[name][0] or "No quorum" in ran[name][0]


def test_the_traceback_is_there_for_who_asks(ran):
    """Fails if the error behind a sentence is lost."""
    assert "Traceback" in ran["folded"][0] and "Error" in ran["folded"][0]


@pytest.mark.parametrize("name, error", [("own", "ZeroDivisionError"), ("own syntax", "SyntaxError"), ("own value", "TypeError"),
                                         ("own, after", "FileNotFoundError"), ("own list, after", "IndexError")])
def test_an_error_of_ones_own_is_shown_as_ever(ran, name, error):
    """I-TROUBLE-1. Fails if a student's own mistake is called one of the cluster."""
    assert error in ran[name][0] and "%tb" not in ran[name][0]
    assert ("Traceback" in ran[name][0]) == (error != "SyntaxError")


def test_a_table_of_a_lab_is_shown_whole(ran):
    """Fails if pandas shows ten of 62 rows."""
    assert len(ran["table"][0].splitlines()) == 63


def test_a_dead_broker_is_soon_tried_again(ran):
    """Fails if a client waits for half a minute for a dead broker from which it wanted to learn the others."""
    assert ran["again soon"][0] == "{1000}\n"


def test_a_start_that_runs_again_ends_the_one_before(ran):
    """Fails if three more brokers run that nobody can reach, or if a client of the old ones lives on."""
    assert ran["ended"][0] == "True True False\n"
    assert any("what it had begun has ended: Cluster" in html for html in ran["start again"][1])


def test_a_topic_that_is_created_again_is_empty(ran):
    """Fails if the second run of a cell ends in TopicAlreadyExistsError, or finds the records of the first."""
    assert ran["topic again"][0] == "" and "=0): 0}" in ran["no record"][0]


def test_traffic_that_runs_again_is_there_once(ran):
    """Fails if the trucks of both runs drive, or if what was promised to the first run is forgotten."""
    assert ran["one drives"][0] == "1\n"


def test_a_long_cell_tells_its_line(ran):
    """I-WAIT-1. Fails if a cell that nobody has prepared for it is silent for longer than three seconds, or if a line stays."""
    assert any("time.sleep(" in html and "3 s so far" in html for html in ran["slow"][1]) and ran["slow"][1][-1] == ""
    assert any("waits for `cluster.leader(&#x27;nobody&#x27;) == 7`" in html for html in ran["slow wait"][1])
    assert ran["wait"][1] == []
