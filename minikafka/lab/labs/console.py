"""Kafka's own console tools against a cluster: what an operator types in a terminal.

    console(cluster, "kafka-topics.sh --describe --topic positions")

The `.sh` files of a Kafka download only start a class of its jars; here the class is started from the jars of `make apache`.
`kcat` is started where it is installed. The address of the cluster is added. A tool that is not here is told in one line.

Owns: which class stands behind which tool. A cell that calls it is tagged `not-kept`: what it prints depends on the machine.
"""
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import Any

from minikafka.cluster.apache import java
from minikafka.cluster.cluster import Cluster
from minikafka.machine.jars import KAFKA
from minikafka.machine.java import NoJava

KAFKA_TOOLS = "org.apache.kafka.tools."
CLASSES = {"kafka-topics.sh": f"{KAFKA_TOOLS}TopicCommand",
           "kafka-console-producer.sh": f"{KAFKA_TOOLS}ConsoleProducer",
           "kafka-console-consumer.sh": f"{KAFKA_TOOLS}consumer.ConsoleConsumer",
           "kafka-consumer-groups.sh": f"{KAFKA_TOOLS}consumer.group.ConsumerGroupCommand",
           "kafka-configs.sh": "kafka.admin.ConfigCommand"}
LIMIT = 60  # seconds: a Java machine starts, on a busy machine


def console(cluster: Any, command: str, given: str = "") -> None:
    """Print a command and what the tool says to it; `given` is what it reads. Raises ValueError for a tool that is not known."""
    tool, *arguments = shlex.split(command)
    print(f"$ {command}")
    if absent := missing(tool):
        print(absent)
        return
    start = [tool, "-b", cluster.bootstrap] if tool == "kcat" else \
        [*java(), CLASSES[tool], "--bootstrap-server", cluster.bootstrap]
    try:
        done = subprocess.run([*start, *arguments], capture_output=True, text=True, input=given, timeout=LIMIT,
                              env={**os.environ, "LC_ALL": "C"})
    except subprocess.TimeoutExpired:
        print(f"({tool} was stopped after {LIMIT} s)")
        return
    print((done.stdout + (done.stderr if done.returncode else "")).expandtabs(3).strip())


def missing(tool: str) -> str:
    """Say what a tool lacks here, and what brings it; "" if it can be started."""
    if Cluster.without_processes is not None and (tool == "kcat" or tool in CLASSES):
        return f"({tool} is a program of its own, which no simulated world has; `make lab` runs it)"
    if tool == "kcat":
        return "" if shutil.which(tool) else "(kcat is not installed here; `apt install kcat` or `brew install kcat` brings it)"
    if tool not in CLASSES:
        raise ValueError(f"{tool} is not known here; there are {', '.join([*CLASSES, 'kcat'])}")
    if not KAFKA.present:
        return f"({tool} needs Apache Kafka's jars, which are not here; `make apache` in a terminal brings them, with a network)"
    try:
        java()
    except NoJava as error:
        return f"({tool} needs Java: {str(error).splitlines()[0]})"
    return ""
