"""The trace: merging, following, torn ends. Files are real; no broker is needed."""

from __future__ import annotations

from pathlib import Path

from minikafka.cluster.trace import Trace, TraceWriter, encode


def event(t: float, b: int = 1, n: int = 1, k: str = "hw", **fields: object) -> dict:
    return {"t": t, "w": 0, "b": b, "i": "x", "n": n, "k": k} | fields


def write(folder: Path, file: str, *events: dict) -> Path:
    path = folder / f"{file}.trace"
    with path.open("ab") as opened:
        for one in events:
            opened.write(encode(one))
    return path


def test_events_of_all_files_are_merged_in_order(tmp_path: Path) -> None:
    """By time, then broker, then sequence. Fails if files are only concatenated."""
    write(tmp_path, "node-1", event(1.0, 1, 1), event(3.0, 1, 2), event(3.0, 1, 3))
    write(tmp_path, "node-2", event(2.0, 2, 1), event(3.0, 2, 2))
    assert [(e["t"], e["b"], e["n"]) for e in Trace(tmp_path)] == [
        (1.0, 1, 1), (2.0, 2, 1), (3.0, 1, 2), (3.0, 1, 3), (3.0, 2, 2)]


def test_only_some_kinds_and_the_last_of_one(tmp_path: Path) -> None:
    """Fails if filters are ignored, or `last` answers the first match."""
    write(tmp_path, "node-1", event(1, k="hw", hw=1), event(2, k="isr"), event(3, k="hw", hw=2))
    trace = Trace(tmp_path)
    assert [e["k"] for e in trace.events("isr")] == ["isr"]
    assert trace.last("hw")["hw"] == 2
    assert trace.last("hw", hw=1)["t"] == 1
    assert trace.last("hw", hw=9) is None


def test_new_returns_each_event_once(tmp_path: Path) -> None:
    """Also of files that appear later. Fails if positions per file are not kept."""
    trace = Trace(tmp_path)
    write(tmp_path, "node-1", event(1))
    assert [e["t"] for e in trace.new()] == [1]
    assert trace.new() == []
    write(tmp_path, "node-1", event(2))
    write(tmp_path, "node-2", event(1.5, 2))
    assert [e["t"] for e in trace.new()] == [1.5, 2]
    assert len(trace.events()) == 3


def test_a_file_cut_at_every_byte_yields_its_whole_events(tmp_path: Path) -> None:
    """A writer killed in the middle of an event. Fails if a torn end raises, or hides what is before it."""
    whole = [event(1, hw=1), event(2, hw=22), event(3, hw=333)]
    sizes = [len(encode(one)) for one in whole]
    data = b"".join(map(encode, whole))
    file = tmp_path / "node-1.trace"
    for cut in range(len(data) + 1):
        file.write_bytes(data[:cut])
        complete = [n for n in range(4) if sum(sizes[:n]) <= cut][-1]
        assert Trace(tmp_path).events() == whole[:complete]


def test_a_torn_end_is_read_once_it_is_whole(tmp_path: Path) -> None:
    """`new` during a write. Fails if the reader steps over a length whose body is still to come."""
    data = encode(event(1)) + encode(event(2))
    file = tmp_path / "node-1.trace"
    trace = Trace(tmp_path)
    file.write_bytes(data[:-3])
    assert [e["t"] for e in trace.new()] == [1]
    file.write_bytes(data)
    assert [e["t"] for e in trace.new()] == [2]


def test_a_saved_trace_is_the_same_trace(tmp_path: Path) -> None:
    """Fails if saving loses fields or order, or `open` cannot tell a folder from a file."""
    folder = tmp_path / "trace"
    folder.mkdir()
    write(folder, "node-2", event(2, 2, text="ü"))
    write(folder, "node-1", event(1))
    saved = Trace.open(tmp_path).save(tmp_path / "kept")
    assert Trace.open(saved).events() == Trace.open(tmp_path).events()
    assert len(Trace.open(saved).events()) == 2


def test_the_clusters_own_events_are_numbered_and_timed(tmp_path: Path) -> None:
    """Broker 0, sequence without gaps, silent after closing. Fails if a watched client crashes a closed cluster."""
    say = TraceWriter(tmp_path / "cluster.trace")
    say("sent", client="p", topic="t")
    say("fault", fault="kill", args=[1])
    say.close()
    say("sent", client="p", topic="t")
    first, second = Trace(tmp_path).events()
    assert (first["b"], first["n"], first["k"], first["topic"]) == (0, 1, "sent", "t")
    assert (second["n"], second["args"]) == (2, [1])
    assert first["t"] <= second["t"]
