"""The web site of lab 1 with real sockets: services that answer after a while, and the calls to them.

    services = {name: Service(takes=0.1) for name in ("billing", "stock", "mail")}
    seconds = call_all(services, order=1, timeout=2.0)
    services["stock"].hang()

Owns: a listening socket and its threads for each service, until `close`.
"""
from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Mapping


class Service:
    """A server on a free port that reads a line, works for `takes` seconds and answers; `done` is what it has worked on."""

    def __init__(self, takes: float = 0.1) -> None:
        self.takes, self.done = takes, []
        self._works = threading.Event()
        self._works.set()
        service = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                order = int(self.rfile.readline())
                if service._works.is_set():
                    time.sleep(service.takes)  # the work
                    service.done.append(order)
                    self.wfile.write(b"done\n")
                else:
                    service._works.wait()      # and whoever called has long gone

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def call(self, order: int, timeout: float) -> None:
        """Return when the service has answered; raises TimeoutError."""
        with socket.create_connection(self._server.server_address, timeout=timeout) as line:
            line.sendall(b"%d\n" % order)
            line.recv(16)

    def hang(self) -> None:
        """Take calls and answer none, as a process that is paused does."""
        self._works.clear()

    def close(self) -> None:
        self._works.set()
        self._server.shutdown()
        self._server.server_close()


def call_all(services: Mapping[str, Service], order: int, timeout: float = 2.0) -> float:
    """Call each service and wait for it; return the seconds of it all. A service that does not answer is passed over."""
    began = time.monotonic()
    for service in services.values():
        try:
            service.call(order, timeout)
        except TimeoutError:
            pass
    return time.monotonic() - began
