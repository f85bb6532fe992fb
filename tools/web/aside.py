"""What Pyodide leaves undone where it puts a call aside, mended in its JavaScript while the page is built.

A call that is put aside (`run_sync`) has a thread of its own for Python, and its part of C's stack is copied away where another
call needs the room. Python's frames of that thread are a chain that leads through C's stack, so through what is not there now.
Whoever walks the frames of *all* threads then reads any bytes as addresses and ends in "memory access out of bounds" or in a
loop without an end: the garbage collector of Python 3.14 does it by itself, so do sys.settrace and sys.monitoring.

Invariants
  I-ASIDE-1  as long as a call is put aside, its thread has no frames to walk: `current_frame` is empty, and is put back first
"""
from __future__ import annotations

CURRENT_FRAME = 52  # bytes from the start of 3.14's PyThreadState, where addresses have four (_Py_DebugOffsets says it)
FRAME = f"HEAPU32[(%s+{CURRENT_FRAME})>>>2]"
MENDED = (
    ("const stackState=new StackState;return{threadState,stackState,",
     f"const stackState=new StackState;const frames={FRAME % 'threadState'};{FRAME % 'threadState'}=0;"
     "return{frames,threadState,stackState,"),
    ("state.stackState.restore();_restoreThreadState(",
     f"state.stackState.restore();{FRAME % 'state.threadState'}=state.frames;_restoreThreadState("),
)


def mend(script: bytes) -> bytes:
    """Return pyodide.asm.mjs with I-ASIDE-1; fails if it is not the text that is known."""
    text = script.decode()
    for before, after in MENDED:
        if text.count(before) != 1:
            raise ValueError(f"this Pyodide puts calls aside in another way than tools/web/aside.py knows: {before}")
        text = text.replace(before, after)
    return text.encode()
