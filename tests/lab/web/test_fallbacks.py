"""What stands in for packages without a wheel for the browser's Python, judged by the packages themselves."""
from __future__ import annotations

import fcntl
import os
import sys

import cramjam
import crc32c
import lz4.frame
import pytest
import re2
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tools.web import fallbacks

BYTES = st.binary(max_size=2000) | st.builds(lambda piece, times: piece * times, st.binary(max_size=30), st.integers(0, 300))
NAMES = st.text("ab.-x1", max_size=6)
PIECES = ["a", "b", "x", ".", "a*", "b+", "x?", "[ab]", "[^a]", "(a|b)", "1{2}", "\\.", "^", "$", "\\d"]
EXPRESSIONS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@given(BYTES, st.integers(0, 2**32 - 1))
def test_a_checksum_is_the_native_one(data, before):
    """I-FALLBACKS-1: fails if a checksum differs, of bytes or of a view on them, begun or continued."""
    assert fallbacks.crc32c(data) == crc32c.crc32c(data)
    assert fallbacks.crc32c(memoryview(data), before) == crc32c.crc32c(data, before)


@given(BYTES, st.sampled_from([0, 3, 9, 12]))
def test_lz4_frames_are_read_by_each_other(data, level):
    """I-FALLBACKS-1: fails if a frame cannot be read by the native package, or the native one's here, or if blocks depend on each
    other, which Java refuses."""
    ours = fallbacks.Lz4Frame.compress(data, compression_level=level, block_linked=False)
    theirs = lz4.frame.compress(data, compression_level=level, block_linked=False)
    assert lz4.frame.decompress(ours) == data == fallbacks.Lz4Frame.decompress(theirs)
    assert ours[4] & 0x20, "blocks are dependent"


def read(stream, data):
    """Return what a stream reads, and what it leaves; None for bytes that are no whole frame."""
    try:
        out = bytes(stream.decompress(data))
    except (RuntimeError, cramjam.DecompressionError):
        return None
    return (out, bytes(stream.unused_data or b"")) if stream.eof else None


@given(BYTES, st.binary(max_size=9), st.booleans(), st.booleans(), st.booleans(), st.data())
def test_an_lz4_stream_ends_where_the_native_one_ends(data, tail, size, checks, cut, draw):
    """I-FALLBACKS-1: fails if a frame that ends early is taken for whole, or if bytes behind a frame, which Kafka ignores, are an
    error or are read."""
    frame = lz4.frame.compress(data, block_linked=False, store_size=size, content_checksum=checks, block_checksum=checks)
    given = frame[:draw.draw(st.integers(0, len(frame)))] if cut else frame + tail
    assert read(fallbacks.Lz4Frame.LZ4FrameDecompressor(), given) == read(lz4.frame.LZ4FrameDecompressor(), given)


@given(EXPRESSIONS, NAMES)
def test_an_expression_matches_the_same_names(expression, name):
    """I-FALLBACKS-1: fails if an expression is taken by one and refused by the other, or if they match different names."""
    try:
        native = re2.compile(expression)
    except re2.error:
        native = None
    try:
        ours = fallbacks.Re2.compile(expression)
    except fallbacks.Re2.error:
        ours = None
    assert (native is None) == (ours is None)
    if native is not None and ours is not None:
        assert bool(native.fullmatch(name)) == bool(ours.fullmatch(name))


@pytest.mark.skipif(sys.version_info < (3, 14), reason="compression.zstd came with Python 3.14, which a page has")
@given(BYTES, st.sampled_from([1, 3, 9]))
def test_zstd_frames_are_read_by_each_other(data, level):
    """I-FALLBACKS-1: fails if a frame cannot be read by the native package, or the native one's here."""
    ours = fallbacks.Zstandard.ZstdCompressor(level).compress(data)
    frame = fallbacks.Zstandard.ZstdDecompressor(max_window_size=1 << 23).decompressobj()
    assert zstandard.ZstdDecompressor().decompressobj().decompress(ours) == data
    assert frame.decompress(zstandard.ZstdCompressor(level).compress(data)) == data and frame.eof


@pytest.mark.parametrize("flock", [fallbacks.flock, fcntl.flock])
def test_a_file_is_locked_as_long_as_its_descriptor_is_open(tmp_path, flock):
    """Fails if a cluster's folder can be locked, and so swept away, while its cluster lives; or if it stays locked for ever."""
    def opened():
        return os.open(tmp_path / "owner.lock", os.O_RDWR | os.O_CREAT)

    owner, other = opened(), opened()
    flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with pytest.raises(BlockingIOError):
        flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(owner)
    flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    flock(other, fcntl.LOCK_UN)
    third = opened()
    flock(third, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(third)
    os.close(other)
