"""One end of a simulated connection: a transport for our protocol, and the queue of what the other end sent.

Written bytes pass the holds (hold.py), are cut into pieces, travel over the link, and wait while the link is cut. Then the other
host's kernel takes them, and gives them to its process when that runs and reads.

Owns: the bytes of one direction on their way. Invariants
  I-NET-1  bytes of one direction arrive in order; how they are cut into pieces is up to the seed.
  I-NET-2  a peer learns of a close after everything that was sent before it.
  I-NET-3  a sender is paused while its peer has not taken HIGH_WATER bytes, as asyncio's transports do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from zlib import crc32

from minikafka.sim.world.hold import read_frame
from minikafka.sim.world.loop import DEAD, ProcessLoop, SimHandle

if TYPE_CHECKING:
    from minikafka.sim.world.net import Link, SimNetwork

HIGH_WATER, LOW_WATER = 64 * 1024, 16 * 1024  # bytes on their way at which a sender pauses, and goes on
FIN, RST = "FIN", "RST"
Piece = bytes | str  # bytes, or how the sender ends


class SimTransport:
    """One end of a connection, a transport as asyncio's are; and the queue of what the other end sent."""

    other: SimTransport
    protocol: Any = None
    incoming: Link  # the link over which the other end's bytes come

    def __init__(self, net: SimNetwork, loop: ProcessLoop, host: str) -> None:
        self.net, self.loop, self.host = net, loop, host
        self.closing = False
        self.arrives = 0.0  # when the last piece sent to us arrives; later pieces not before it
        self.stuck: list[Piece] = []  # pieces that arrived while the link was cut
        self.inbox: list[Piece] = []  # pieces that our kernel has and our protocol has not
        self.reading, self.awake = True, False
        self.under_way = 0  # bytes written here that the other end has not taken
        self.paused = False
        self.caller = False  # this end opened the connection, so that it sends requests
        self.asked: dict[int, tuple[int, int]] = {}  # correlation id -> api key and version of its request
        self.dam: list[Piece] | None = None  # what was written since a frame of ours was held, that frame first

    def join(self, other: SimTransport) -> None:
        """Make this end and the other one a connection."""
        for end, far in ((self, other), (other, self)):
            end.other, end.incoming = far, self.net.link(far.host, end.host)
            self.net.transports[end] = None

    def arrive_later(self, accept: Callable[[], asyncio.Protocol]) -> None:
        """Accept in the listener's process when that gets to it; bytes wait until then."""
        self.reading = False

        def accepted() -> None:
            self.protocol = accept()
            self.protocol.connection_made(self)
            self.resume_reading()

        self.loop.call_soon(accepted)

    # --- the methods that a protocol calls ----------------------------------------------------------------

    def write(self, data: Any) -> None:
        if self.closing or not data:
            return
        data = bytes(data)
        self.under_way += len(data)
        if self.under_way > HIGH_WATER and not self.paused:
            self.paused = True
            self.protocol.pause_writing()
        self.pass_on(data)

    def writelines(self, pieces: list[bytes]) -> None:
        self.write(b"".join(pieces))

    def pass_on(self, data: Piece) -> None:
        """Send what was written, unless it is held back or behind something that is."""
        if self.dam is not None:
            self.dam.append(data)
        elif isinstance(data, str):
            self.other.send(data)
        elif not self._held(data):
            for piece in self._pieces(data):
                self.other.send(piece)

    def _held(self, data: bytes) -> bool:
        """Note which request a frame is, or which it answers; return whether a hold keeps it."""
        message = read_frame(self, data, watched=bool(self.net.taps or self.net.holds))
        if message is None:
            return False
        for tap in self.net.taps:
            tap(message)
        for hold in self.net.holds:
            if hold.wants(message):
                self.dam = [data]
                hold.take(message)
                return True
        return False

    def undam(self) -> None:
        """Let the held frame go; frames behind it may meet holds of their own."""
        first, *behind = self.dam or [b""]
        self.dam = None
        for piece in [first] if isinstance(first, str) else self._pieces(first):
            self.other.send(piece)
        for data in behind:
            self.pass_on(data)

    def _pieces(self, data: bytes) -> list[bytes]:
        """Cut a write into pieces by chance: a receiver must not count on them (I-NET-1)."""
        random = self.net.random
        if len(data) == 1 or random() >= self.net.chunking:
            return [data]
        cut = 1 + int(random() * min(len(data) - 1, 8 if random() < 0.5 else 1 << 30))
        return [data[:cut], *self._pieces(data[cut:])]

    def get_write_buffer_size(self) -> int:
        return self.under_way

    def close(self) -> None:
        """Close after what was written has been sent."""
        if not self.closing:
            self._leave(None)
            self.pass_on(FIN)

    def abort(self) -> None:
        """Close without waiting for what is under way."""
        if not self.closing:
            self._leave(None)
            self.pass_on(RST)

    def _leave(self, why: Exception | None) -> None:
        self.closing = True
        self.net.transports.pop(self, None)
        self.loop.call_soon(self._lost, why)

    def _lost(self, why: Exception | None) -> None:
        if self.protocol is not None:
            self.protocol.connection_lost(why)

    def broken(self) -> None:
        """Reset the connection at this end."""
        if not self.closing:
            self._leave(ConnectionResetError("connection reset by peer"))

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
        self._wake()

    def read_some(self, size: int) -> bool:
        """Hand the protocol at most `size` bytes while reading is paused; return False if nothing has arrived."""
        if not self.inbox or self.closing:
            return False
        piece = self.inbox.pop(0)
        if not isinstance(piece, str) and len(piece) > size:
            piece, rest = piece[:size], piece[size:]
            self.inbox.insert(0, rest)
        self._take(piece)
        return True

    def is_closing(self) -> bool:
        return self.closing

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self.other.host, 0) if name == "peername" else default

    # --- what comes in ----------------------------------------------------------------------------------------

    def send(self, piece: Piece) -> None:
        """Send a piece to this end, from the other one."""
        size = 60 if isinstance(piece, str) else len(piece)
        timeline = self.net.timeline
        self.arrives = max(self.arrives + 1e-9, timeline.clock + self.incoming.delay(size))
        timeline.at(self.arrives, SimHandle(self.net.loop, self._arrive, (piece,), None))

    def _arrive(self, piece: Piece) -> None:
        """Stop a piece that meets a cut, or that would overtake a stopped one; hand any other to the kernel."""
        if self.stuck or self.incoming.cut:
            self.stuck.append(piece)
        else:
            self._enter(piece)

    def flow(self) -> None:
        """Hand on the stopped pieces: the link is whole again."""
        stuck, self.stuck = self.stuck, []
        for piece in stuck:
            self._enter(piece)

    def _enter(self, piece: Piece) -> None:
        """Take a piece into our kernel, which answers in place of a process that is gone."""
        if self.host in self.net.dark:
            return
        if not self.closing:
            self.inbox.append(piece)
            self._wake()
        elif not isinstance(piece, str):
            self.other.send(RST)

    def _wake(self) -> None:
        if self.reading and self.inbox and not self.awake:
            self.awake = True
            self.loop.call_soon(self._receive)

    def _receive(self) -> None:
        """Hand the protocol all pieces, unless it stops reading."""
        self.awake = False
        while self.inbox and self.reading and not self.closing:
            self._take(self.inbox.pop(0))

    def _take(self, piece: Piece) -> None:
        if piece is RST:
            self.broken()
        elif piece is FIN:
            if not self.protocol.eof_received():
                self.close()
        else:
            self.net.digest = crc32(piece, self.net.digest)  # type: ignore[arg-type]
            self.other.taken(len(piece))
            self.protocol.data_received(piece)

    def taken(self, size: int) -> None:
        """Note that the other end has read `size` bytes."""
        self.under_way -= size
        if self.paused and self.under_way <= LOW_WATER and self.loop.state is not DEAD:
            self.paused = False
            self.loop.call_soon(self._resume)

    def _resume(self) -> None:
        if not self.paused and not self.closing:
            self.protocol.resume_writing()
