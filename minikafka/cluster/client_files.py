"""The settings of clients of a closed cluster as files: in Java's words for its tools, in librdkafka's for kcat.

Owns: the two files in `<folder>/security`, which only the owner of the cluster can read.
"""

from __future__ import annotations

from minikafka.machine.files import write_atomic

from .cluster import Cluster
from .engine import render


def write_client_files(cluster: Cluster) -> list[str]:
    """Write the files, if the cluster is closed; return a line for each that says who needs it."""
    if not cluster.security.settings:
        return []
    java, librdkafka = (cluster.folder / "security" / f"{name}.properties" for name in ("java", "librdkafka"))
    write_atomic(java, render(cluster.for_java()), 0o600)
    write_atomic(librdkafka, "".join(f"{name}={value}\n" for name, value in cluster.for_confluent().items()), 0o600)
    return [f"Java's tools need: --command-config {java}", f"kcat needs: -F {librdkafka}"]
