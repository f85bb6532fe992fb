"""Take frames out of the bytes that a connection has received.

A frame is a size of four bytes, and that number of bytes. Large frames are not copied here: the kernel copies a client's records
into our buffer, and from there into the log.

Owns: nothing. Invariants: I-FRAME-1 a frame stays as it is, whatever is done to the buffer afterwards.
What Kafka does differently: it allocates the whole frame when it knows its size (NetworkReceive), and trusts the size.
"""

from __future__ import annotations

import struct

SIZE = struct.Struct(">i")
LARGE = 1 << 16  # bytes from which on a frame, or a field of one, is not copied


def first_frame(buffer: bytearray, size: int) -> tuple[memoryview, bytearray]:
    """Return the first frame, which has `size` bytes without its size, and a buffer of what comes after it: the smaller of the
    two is a copy, and of a small frame always the frame."""
    end = SIZE.size + size
    if size >= LARGE and size > len(buffer) - end:
        return memoryview(buffer)[SIZE.size : end], buffer[end:]
    with memoryview(buffer) as view:
        frame = bytes(view[SIZE.size : end])
    del buffer[:end]
    return memoryview(frame), buffer
