"""Runs in the page: what has no wheel for Pyodide, in plain Python or over what is there.

Each class has the names of one module that the project or kafka-python imports; packages.py writes the modules around them.
Natively nothing imports this but tests, which compare each with the package that it stands for.

Invariants
  I-FALLBACKS-1  the same bytes and the same verdicts as the native package, for all that the project calls
What differs: re2's expressions run in `re`, whose time is not linear. In a page there is only the student's own.
"""
from __future__ import annotations

import os
import re
import sys
from asyncio import events
from collections.abc import Callable
from typing import Any, NoReturn

import cramjam


def elsewhere(why: str) -> NoReturn:
    """Raise what a cell shows as one sentence."""
    from minikafka.lab.trouble import Elsewhere
    raise Elsewhere(why)


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


holders: dict[tuple[int, int] | None, int] = {}  # the descriptor that has locked a file, by the file's device and number


def flock(file: Any, how: int) -> None:
    """Lock a file for an open descriptor until that is closed. BlockingIOError if another has it: nobody else could free it."""
    descriptor = file if isinstance(file, int) else file.fileno()
    which = _which(descriptor)
    holder = holders.get(which, descriptor)
    if how & 8:  # LOCK_UN
        holders.pop(which, None)
    elif holder != descriptor and _which(holder) == which:
        raise BlockingIOError("another descriptor has locked this file")
    else:
        holders[which] = descriptor


def _which(descriptor: int) -> tuple[int, int] | None:
    """Return which file is open there; None if none is."""
    try:
        about = os.fstat(descriptor)
    except OSError:  # closed
        return None
    return about.st_dev, about.st_ino


def fill() -> None:
    """Give the empty modules that JupyterLite puts there what the project calls of them: a page has one process, no limits."""
    locks, limits = sys.modules["fcntl"], sys.modules["resource"]
    locks.LOCK_EX, locks.LOCK_NB, locks.LOCK_SH, locks.LOCK_UN = 2, 4, 1, 8  # type: ignore[attr-defined]
    locks.flock = flock  # type: ignore[attr-defined]
    limits.RLIM_INFINITY, limits.RLIMIT_NOFILE, limits.RLIMIT_AS, limits.RUSAGE_SELF = -1, 7, 9, 0  # type: ignore[attr-defined]
    limits.getrlimit = lambda *_: (-1, -1)  # type: ignore[attr-defined]
    limits.setrlimit = lambda *_: None  # type: ignore[attr-defined]


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


class Greenlet:
    """A call that is put aside and goes on later, over the browser's own way to do that (JSPI): while one runs, each other waits
    for a promise. Pyodide begins a new one in a later turn of the page's event loop: a callback of the page can come before it.
    """

    current: Greenlet
    loop: Any = None  # asyncio's running loop goes on with whoever runs

    def __init__(self, run: Callable[[], Any] | None = None) -> None:
        if run is not None and not can_put_aside():  # said to whoever starts a thread: who waits for one would wait for ever
            elsewhere("kafka-python's clients and threads need a browser that can put a call aside (JSPI): "
                      "a Chrome, Edge or Firefox of 2026.")
        self.parent: Greenlet | None = None
        self.dead, self._run, self._goes_on = False, run, None
        self._fell: BaseException | None = None

    def switch(self) -> None:
        """Let this one run until another is switched to, or until it has ended, which goes on with its parent."""
        from js import Promise, queueMicrotask
        from pyodide.ffi import create_proxy, run_sync
        me, Greenlet.current = Greenlet.current, self
        me._goes_on = Promise.withResolvers()
        if self._goes_on is None and self._run is not None:
            self._goes_on = me._goes_on  # not None: it has begun
            self._start = create_proxy(self._live)
            queueMicrotask(promising(self._start))
        else:
            self._goes_on.resolve()
        aside()
        run_sync(me._goes_on.promise)
        events._set_running_loop(Greenlet.loop)
        if self.dead:
            self._start.destroy()  # not by itself: it was running
        error, me._fell = me._fell, None
        if error is not None:  # of one that has just ended
            raise error

    def _live(self) -> None:
        events._set_running_loop(Greenlet.loop)
        try:
            self._run()
        except GreenletExit:
            pass
        except BaseException as error:
            self.parent._fell = error
        self.dead = True
        Greenlet.current = self.parent
        aside()
        self.parent._goes_on.resolve()


Greenlet.current = Greenlet()
PAGE = events._get_running_loop()  # the page's, for it imports this


def aside() -> None:
    """Let the page's own loop run while no greenlet does: a promise that is waited for beside another loop never comes."""
    Greenlet.loop = events._get_running_loop()
    events._set_running_loop(PAGE)


def can_put_aside() -> bool:
    """Return whether this browser has JSPI."""
    from js import WebAssembly
    return hasattr(WebAssembly, "Suspending")


def promising(call: Any) -> Any:
    """Return a function of JavaScript that calls one of Python so that it can be put aside."""
    from pyodide.code import run_js
    return run_js("call => () => call.callPromising()")(call)


class GreenletExit(BaseException):
    pass


class Greenlets:
    greenlet, GreenletExit = Greenlet, GreenletExit

    @staticmethod
    def getcurrent() -> Greenlet:
        return Greenlet.current


class NotHere:
    """Stands for a class that needs a process, or code of the machine."""

    def __init__(self, *_: Any, **__: Any) -> None:
        elsewhere("librdkafka does not run in a browser: this cell needs `make lab`, on a machine.")


class ConfluentKafka:
    Producer = Consumer = ShareConsumer = Message = TopicPartition = KafkaError = NotHere
    KafkaException = RuntimeError


class ConfluentAdmin:
    AdminClient = NewTopic = NotHere


class Psutil:
    """A browser tells nothing of its machine."""

    Error = NoSuchProcess = AccessDenied = LookupError
    Process = NotHere


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
