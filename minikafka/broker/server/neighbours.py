"""Whose program is at the other end of a connection: on one machine the kernel knows it, and no client need say it.

Many people may share a machine, a JupyterHub for example, and each can reach every port of its loopback. Where nobody has to
log in, a broker serves programs of its own user and of root only, so that the labs need no password.

Owns: the question to the kernel (Linux: a socket of the family NETLINK_SOCK_DIAG, tens of microseconds).
Invariants: I-NEAR-1 a connection whose end is closed already has no owner any more: for Linux it is root's, and nobody's here.
What Kafka does differently: it serves whoever reaches a listener without SASL.
Source: the manual page sock_diag(7).
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import closing

SOCK_DIAG = 4  # NETLINK_SOCK_DIAG, which Python's module does not name
BY_FAMILY, ERROR, REQUEST = 20, 2, 1  # SOCK_DIAG_BY_FAMILY, NLMSG_ERROR, NLM_F_REQUEST
HEAD = struct.Struct("=IHHII")  # length, type, flags, number, from whom
ASK = struct.Struct("=BBBBI")  # family, protocol, more, nothing, all states
PORTS = struct.Struct(">HH")
UID_AND_INODE = struct.Struct("=II")
UID_AT = HEAD.size + 4 + 48 + 12
NO_COOKIE = b"\xff" * 8
ROOT = 0

Address = tuple[str, int]


class Neighbours:
    """The programs of this machine. `known` is False where the kernel does not say whose a connection is."""

    def __init__(self) -> None:
        try:
            self._kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, SOCK_DIAG)
            self.known = self._knows_ourselves()
        except (OSError, AttributeError):  # no Linux, or a kernel without this family
            self.known = False

    def is_stranger(self, peer: Address, here: Address) -> bool:
        """Return whether another user's program has opened the connection from `peer` to `here`, both on this machine."""
        return self.known and self._owner(peer, here) not in (os.geteuid(), ROOT)

    def _knows_ourselves(self) -> bool:
        with closing(socket.create_server(("127.0.0.1", 0))) as server, closing(socket.socket()) as client:
            client.connect(server.getsockname())
            return self._owner(client.getsockname(), server.getsockname()) == os.geteuid()

    def _owner(self, peer: Address, here: Address) -> int | None:
        """Return the user of the socket that has the address `peer` and is connected to `here`; None: it has none any more."""
        family = socket.AF_INET6 if ":" in peer[0] else socket.AF_INET
        ends = (socket.inet_pton(family, host).ljust(16, b"\0") for host in (peer[0], here[0]))
        question = ASK.pack(family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + PORTS.pack(peer[1], here[1]) + b"".join(ends)
        question += bytes(4) + NO_COOKIE
        self._kernel.send(HEAD.pack(HEAD.size + len(question), BY_FAMILY, REQUEST, 1, 0) + question)
        answer = self._kernel.recv(4096)
        if HEAD.unpack_from(answer)[1] == ERROR:
            return None
        uid, inode = UID_AND_INODE.unpack_from(answer, UID_AT)
        return uid if inode else None
