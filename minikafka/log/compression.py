"""Compression of a batch's records: gzip, snappy in xerial framing, lz4 frames, zstd, as Kafka's clients write them.

Owns: the codecs, the cap on a batch's size when it is unpacked, and which streams are ordinary: those that every client reads.
Java also reads bytes behind a stream, and several streams. So does `unpack`, which returns whether the stream was ordinary.
Invariants: I-ZIP-1 unpacking a batch allocates at most `limit(compressed size)` bytes of records, and for zstd at most 8 MiB
              more.
            I-ZIP-2 bad bytes raise DecompressionError, too many bytes raise TooLarge; no other exception is raised.
Apache Kafka has no cap: a 1 MiB request may unpack to a gigabyte there. Ours is min(64 MiB, 100 times + 1 MiB).
Source: org.apache.kafka.common.compress.*; snappy framing: xerial snappy-java's SnappyOutputStream.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import zstandard

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = {"none": NONE, "uncompressed": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}

DEFAULT_LEVELS = {GZIP: -1, SNAPPY: 0, LZ4: 9, ZSTD: 3}

MEBIBYTE = 1 << 20
MOST_UNPACKED, MOST_TIMES = 64 * MEBIBYTE, 100  # what a batch may unpack to
MOST_STREAMS = 100  # one after the other in a batch; each costs a copy of the bytes behind it
GZIP_MAGIC = b"\x1f\x8b"
XERIAL_HEADER = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
XERIAL_BLOCK = 32 * 1024
LZ4_FLAGS_AT, LZ4_INDEPENDENT = 4, 0x20
ZSTD_WINDOW = 8 * MEBIBYTE
ZSTD_SLICE = 256  # bytes opened at once: a block of 4 can stand for 128 KiB, so a slice for at most 8 MiB


class DecompressionError(Exception):
    """The bytes are not in the format of the codec that the attributes name (Kafka answers UNKNOWN_SERVER_ERROR)."""


class TooLarge(Exception):
    """The records would unpack to more than the cap."""


class TooCostly(DecompressionError):
    """The stream is sound, but this broker does not open it: it has too many parts, or a window that is too large."""


def limit(compressed: int) -> int:
    """Return the most bytes that `compressed` bytes of records may unpack to."""
    return min(MOST_UNPACKED, MOST_TIMES * compressed + MEBIBYTE)


def decompress(codec: int, data: bytes | memoryview) -> bytes:
    """Unpack records. Raises DecompressionError (also for a codec that does not exist) or TooLarge."""
    return unpack(codec, data)[0]


def unpack(codec: int, data: bytes | memoryview) -> tuple[bytes, bool]:
    """Return the bytes, and whether the stream is ordinary."""
    if codec not in _DECOMPRESS:
        raise DecompressionError(f"Unknown compression type id: {codec}")
    cap = limit(len(data))
    try:
        out, ordinary = _DECOMPRESS[codec](bytes(data), cap)
    except zstandard.ZstdError as error:
        if "too much memory" in str(error):
            raise TooCostly(f"a zstd frame has a window of more than {ZSTD_WINDOW >> 20} MiB") from None
        raise DecompressionError(f"Failed to decompress record stream: {error}") from None
    except (zlib.error, RuntimeError, cramjam.DecompressionError, EOFError, struct.error) as error:
        raise DecompressionError(f"Failed to decompress record stream: {error}") from None
    if len(out) > cap:
        raise TooLarge(f"it has {len(data):,} bytes and unpacks to more than {cap:,}: at most {MOST_TIMES} times as many and "
                       f"1 MiB, and {MOST_UNPACKED >> 20} MiB in all, are taken")
    return out, ordinary


def compress(codec: int, data: bytes, level: int | None = None) -> bytes:
    """Pack records; `level` by the codec's own scale, None or Kafka's default for its default."""
    if codec == NONE:
        return data
    return _COMPRESS[codec](data, DEFAULT_LEVELS[codec] if level is None else level)


def _gunzip(data: bytes, cap: int) -> tuple[bytes, bool]:
    """Unpack one gzip member after the other; other bytes after the last member are ignored, as by Java."""
    out, rest = bytearray(), data
    for number in range(MOST_STREAMS):
        stream = zlib.decompressobj(wbits=31)
        out += stream.decompress(rest, cap + 1 - len(out))
        if not stream.eof and len(out) <= cap:
            raise EOFError("gzip stream ends early")
        rest = stream.unused_data
        if len(out) > cap or not rest.startswith(GZIP_MAGIC):
            return bytes(out), number == 0 and not rest
    raise TooCostly(f"it has too many gzip streams, more than {MOST_STREAMS}")


def _gzip(data: bytes, level: int) -> bytes:
    stream = zlib.compressobj(level, wbits=31)
    return stream.compress(data) + stream.flush()


def _unsnap(data: bytes, cap: int) -> tuple[bytes, bool]:
    """Unpack Xerial's stream of length-prefixed blocks, or one bare block as some clients send it."""
    if not data.startswith(XERIAL_HEADER[:8]):
        return _unsnap_block(data, cap), True
    out, headers = bytearray(), 0
    pos = 0
    while pos + 4 <= len(data):  # fewer bytes are no block: Kafka ignores them
        if data.startswith(XERIAL_HEADER[:8], pos):
            pos += len(XERIAL_HEADER)  # a stream begins
            headers += 1
            continue
        size = struct.unpack_from(">i", data, pos)[0]
        if size < 0 or size > len(data) - pos - 4:
            raise EOFError("snappy block ends early")
        out += _unsnap_block(data[pos + 4 : pos + 4 + size], cap - len(out))
        pos += 4 + size
    return bytes(out), headers == 1 and pos == len(data) and data.startswith(XERIAL_HEADER)


def _unsnap_block(block: bytes, cap: int) -> bytes:
    """Unpack a block whose declared length is read before anything is allocated for it (compare CVE-2023-34455)."""
    declared = shift = 0
    for byte in block[:5]:
        declared |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if declared > cap:
        raise TooLarge(f"A snappy block of {declared} bytes exceeds what is left of the limit, {cap}")
    return bytes(cramjam.snappy.decompress_raw(block))


def _snap(data: bytes, level: int) -> bytes:
    out = bytearray(XERIAL_HEADER)
    for at in range(0, len(data), XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + XERIAL_BLOCK]))
        out += struct.pack(">i", len(block)) + block
    return bytes(out)


def _lz4(data: bytes, level: int) -> bytes:
    """Compress with lz4. Kafka's default level, 9, means the fast compressor; every other level means the thorough one, at
    level 3 or more."""
    level = 0 if level == DEFAULT_LEVELS[LZ4] else max(level, 3)
    return bytes(lz4.frame.compress(data, compression_level=level, block_linked=False))


def _unlz4(data: bytes, cap: int) -> tuple[bytes, bool]:
    """Unpack one frame and ignore bytes behind it. As in Java, blocks that refer to each other are an error."""
    if len(data) > LZ4_FLAGS_AT and not data[LZ4_FLAGS_AT] & LZ4_INDEPENDENT:
        raise EOFError("Dependent block stream is unsupported (BlockIndependence must be set)")
    stream = lz4.frame.LZ4FrameDecompressor()
    out = bytes(stream.decompress(data, max_length=cap + 1))
    if not stream.eof and len(out) <= cap:
        raise EOFError("lz4 frame ends early")
    return out, not stream.unused_data


def _unzstd(data: bytes, cap: int) -> tuple[bytes, bool]:
    """Unpack frame by frame in small slices: only this interface of the library reports whether a frame was whole."""
    out, rest = bytearray(), data
    for number in range(MOST_STREAMS):
        if not rest or len(out) > cap:
            return bytes(out), number == 1
        frame = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
        pos = 0
        while not frame.eof and len(out) <= cap:
            if pos >= len(rest):
                raise EOFError("zstd frame ends early")
            out += frame.decompress(rest[pos : pos + ZSTD_SLICE])
            pos += ZSTD_SLICE
        rest = frame.unused_data + rest[pos:]
    raise TooCostly(f"it has too many zstd frames, more than {MOST_STREAMS}")


_DECOMPRESS: dict[int, Callable[[bytes, int], tuple[bytes, bool]]] = {GZIP: _gunzip, SNAPPY: _unsnap, LZ4: _unlz4, ZSTD: _unzstd}
_COMPRESS: dict[int, Callable[[bytes, int], bytes]] = {
    GZIP: _gzip,
    SNAPPY: _snap,
    LZ4: _lz4,
    ZSTD: lambda data, level: zstandard.ZstdCompressor(level).compress(data),
}
