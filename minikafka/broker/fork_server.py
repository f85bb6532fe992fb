"""A process that has imported what a node needs, and forks each node of a cluster: so the imports take their time once.

    python -m minikafka.broker.fork_server 7           7: the descriptor that it has inherited, one end of a pair of sockets

The cluster has the other end (minikafka/cluster/forked.py). It sends a request for each node: the file of its properties and its
working directory, in JSON, and three descriptors: its standard input, its log, and its report. The fork server writes two numbers
into the report: the node's process id, and its wait status when it has ended.

Owns: the nodes' processes, until they have ended.

Invariants
  The fork server has one thread: a fork copies no lock that another thread holds, and no event loop.
  I-FORK-2  A node keeps no descriptor of the fork server or of another node.
  I-FORK-3  A node ends with the fork server, and the fork server with its cluster, however that ends.

Apache Kafka has nothing like it: a Java machine does not fork. There an archive of classes makes the start shorter
(minikafka/machine/class_archive.py).
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import sys

from minikafka.broker.__main__ import main
from minikafka.broker.server.live import die_with_parent

NUMBER = 8  # bytes of each number in a report
LONGEST = 1 << 16  # bytes of a request


class ForkServer:
    """Forks nodes until the cluster closes its end of the socket."""

    def __init__(self, requests: socket.socket) -> None:
        self.requests = requests
        self.reports: dict[int, int] = {}  # the descriptor of each living node's report, by process id
        self.ended, self._wake = os.pipe()  # a byte for each SIGCHLD
        os.set_blocking(self.ended, False)
        os.set_blocking(self._wake, False)

    def serve(self) -> str | None:
        """Return the file of properties in a node's new process; None in the fork server, when the cluster has ended."""
        signal.signal(signal.SIGCHLD, lambda *_: None)  # Python writes no byte for a signal without a handler
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self.requests, selectors.EVENT_READ)
            selector.register(self.ended, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if self.ended in ready:
                    os.read(self.ended, 4096)
                    self._report_ends()
                if self.requests in ready:
                    message, descriptors, _, _ = socket.recv_fds(self.requests, LONGEST, 3)
                    if not message:
                        return None
                    if not self._fork(descriptors):
                        break
        file, folder = json.loads(message)
        os.chdir(folder)
        return str(file)

    def _fork(self, descriptors: list[int]) -> bool:
        """Return whether this process is still the fork server, and not the node that it forks."""
        standard_input, log, report = descriptors
        fork_server = os.getpid()
        if node := os.fork():
            self.reports[node] = report
            os.write(report, node.to_bytes(NUMBER))
            os.close(standard_input)
            os.close(log)
            return True
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()  # the interrupt button of a notebook reaches no node
        die_with_parent()
        if os.getppid() != fork_server:  # it ended before the line above
            sys.exit("the cluster that started this broker is gone")
        for theirs, ours in ((standard_input, 0), (log, 1), (log, 2)):
            os.dup2(theirs, ours)
        for descriptor in (*descriptors, *self.reports.values(), self.ended, self._wake):
            os.close(descriptor)
        self.requests.close()
        return False

    def _report_ends(self) -> None:
        """Write the wait status of each node that has ended into its report."""
        while self.reports:
            node, status = os.waitpid(-1, os.WNOHANG)
            if node == 0:
                return
            report = self.reports.pop(node)
            try:
                os.write(report, status.to_bytes(NUMBER))
            except BrokenPipeError:  # the cluster has let go of the node's handle
                pass
            os.close(report)


if __name__ == "__main__":
    gc.freeze()  # the nodes share this memory as long as nobody writes into it
    properties = ForkServer(socket.socket(fileno=int(sys.argv[1]))).serve()
    sys.exit(main(properties) if properties is not None else 0)
