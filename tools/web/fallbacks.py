"""Runs in the page: what has no wheel for Pyodide, in plain Python or over what is there.

Each class has the names of one module that the project or kafka-python imports; packages.py writes the modules around them.
Natively nothing imports this but tests, which compare each with the package that it stands for.

Invariants
  I-FALLBACKS-1  the same bytes and the same verdicts as the native package, for all that the project calls
What differs: re2's expressions run in `re`, whose time is not linear. In a page there is only the student's own.
"""
from __future__ import annotations

import re
from typing import Any

import cramjam


def names(of: type) -> dict[str, Any]:
    """Return what the module of this class has."""
    return {name: getattr(of, name) for name in dir(of) if not name.startswith("_")}


def _table() -> list[int]:
    rows = list(range(256))
    for _ in range(8):
        rows = [(row >> 1) ^ (0x82F63B78 if row & 1 else 0) for row in rows]
    return rows


TABLE = _table()


def crc32c(data: Any, value: int = 0) -> int:
    """Return the checksum (Castagnoli) of some bytes, or continue one."""
    crc, table = value ^ 0xFFFFFFFF, TABLE
    for byte in bytes(data):
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


class Crc32c:
    crc32c = staticmethod(crc32c)


def lz4_end(data: bytes) -> int | None:
    """Return where an LZ4 frame ends, None if it does not end here: cramjam takes frames only, without bytes behind them."""
    if len(data) < 7:
        return None
    flags = data[4]
    at = 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)  # a size and a dictionary's number may stand in the header
    while (size := int.from_bytes(data[at : at + 4], "little")) and at + 4 <= len(data):
        at += 4 + (size & 0x7FFFFFFF) + (4 if flags & 0x10 else 0)  # the highest bit: a block as it is; a checksum may follow
    at += 4 + (4 if flags & 0x04 else 0)
    return at if at <= len(data) else None


class LZ4FrameDecompressor:
    """Reads one frame that is given whole."""

    eof, unused_data = False, b""

    def decompress(self, data: Any, max_length: int = -1) -> bytes:
        data = bytes(data)
        if data[:4] != b"\x04\x22\x4d\x18"[:len(data)]:
            raise RuntimeError("LZ4F_decompress failed with code: ERROR_frameType_unknown")
        end = lz4_end(data)
        if end is None:
            return b""
        self.eof, self.unused_data = True, data[end:]
        return bytes(cramjam.lz4.decompress(data[:end]))


class Lz4Frame:
    LZ4FrameDecompressor = LZ4FrameDecompressor

    @staticmethod
    def compress(data: Any, compression_level: int = 0, block_linked: bool = False) -> bytes:
        made = cramjam.lz4.Compressor(level=compression_level, content_checksum=False, block_linked=block_linked)
        made.compress(bytes(data))
        return bytes(made.finish())

    @staticmethod
    def decompress(data: Any) -> bytes:
        return bytes(cramjam.lz4.decompress(bytes(data)))


try:
    from compression import zstd
except ImportError:  # Python 3.13 and older: no page, and its tests are left out
    zstd = None


class ZstdCompressor:
    def __init__(self, level: int = 3) -> None:
        self._level = level

    def compress(self, data: Any) -> bytes:
        return zstd.compress(data, self._level)


class ZstdDecompressor:
    def __init__(self, max_window_size: int = 0) -> None:
        self._most = max_window_size

    def decompressobj(self) -> Any:
        most = {zstd.DecompressionParameter.window_log_max: self._most.bit_length() - 1} if self._most else None
        return zstd.ZstdDecompressor(options=most)

    def decompress(self, data: Any) -> bytes:
        return zstd.decompress(data)


class Zstandard:
    ZstdError = zstd.ZstdError if zstd else Exception
    ZstdCompressor, ZstdDecompressor = ZstdCompressor, ZstdDecompressor


class Re2Error(Exception):
    pass


class Re2Options:
    log_errors = False


class Re2:
    error, Options = Re2Error, Re2Options

    @staticmethod
    def compile(expression: str, options: Any = None) -> Any:
        try:
            return re.compile(expression)
        except re.error as error:
            raise Re2Error(str(error).encode()) from None
