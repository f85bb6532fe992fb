"""Handing in, and the page over a class."""
from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.__main__ import main
from minikafka.lab import Night, check, classroom, record, room
from minikafka.lab.report import found, progress


def kept(passed: bool, guess: str, word: str, seconds: float) -> record.Record:
    return {**record.empty(), "exercises": {"4.3": {"tried": 3, "passed": passed}}, "hints": {"4.3": {"level": 2}},
            "predictions": {"4.2": {"guess": guess, "measured": "800", "word": word}},
            "labs": {"4": {"seconds": seconds, "last": 1.7e9}}}


@pytest.fixture()
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three students who handed in, each from a progress file of her own."""
    monkeypatch.chdir(tmp_path)
    for name, mine in {"Ada L.": kept(True, "400", "surprise", 600), "Grace": kept(False, "400", "surprise", 1200),
                       "Alan": kept(True, "800", "as you said", 60)}.items():
        file = tmp_path / "progress"
        file.write_text(json.dumps(mine))
        monkeypatch.setenv("MINIKAFKA_PROGRESS", str(file))
        assert "written: minikafka-" in progress().hand_in(name)
    return tmp_path


def test_what_is_handed_in_is_what_was_done_and_nothing_else(folder: Path) -> None:
    """Fails if a time of day, a path, or anything else of the machine is handed in."""
    text = (folder / "minikafka-Ada-L-.json").read_text()
    whole = {**kept(True, "400", "surprise", 600), "labs": {"4": {"seconds": 600}}, "name": "Ada L.", "kind": classroom.KIND}
    assert json.loads(text) == {part: value for part, value in whole.items() if part != "recalled"}
    assert str(folder) not in text and "last" not in text


def test_a_class_at_one_glance(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a student is missing, an exercise or a prediction is counted wrong, or the page lacks a table."""
    assert main(["class", str(folder)]) == 0
    class_ = [classroom.read(path) for path in sorted(folder.glob("minikafka-*.json"))]
    labs = list(found(record.ROOT / "labs"))
    place = 1 + [lab.number for lab in labs].index(4)
    rows = {row[0]: row for row in classroom.who(class_, labs).rows}
    assert {name: (row[place], row[-1]) for name, row in rows.items()} == {
        "Ada L.": ("1 of 6", "10"), "Grace": ("0 of 6", "20"), "Alan": ("1 of 6", "1")}
    assert classroom.falls(class_, labs).rows == (("4.3", "2 of 3", "3.0", "3"),)
    assert classroom.surprises(class_, labs).rows == (("4.2", "2 of 3", "1", "400, 800", "800"),)
    printed, page = capsys.readouterr().out, (folder / "class.html").read_text()
    assert "3 students" in printed and page.count("<table ") == 3 and "Grace" in page


def test_the_wall_of_the_shortest_nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Fails if a longer night replaces a shorter one, or if the student's page and the class's say another number of moves."""
    (folder := tmp_path / "class").mkdir()
    for name, nights in {"Ada": (3, 5), "Grace": (4,)}.items():
        monkeypatch.setenv("MINIKAFKA_PROGRESS", str(tmp_path / f"progress-{name}"))
        for moves in nights:
            night = Night().holds(2).writes(1).kills(1)
            for _ in range(moves - len(night)):
                night.passes(1)
            assert check("6.8", night)
        assert f"your shortest night of 6.8: {nights[0]} moves; the shortest known has 3" in repr(progress())
        classroom.hand_in(name, folder)
    assert main(["class", str(folder)]) == 0
    class_ = [classroom.read(path) for path in folder.glob("*.json")]
    assert classroom.nights(class_).rows == (("6.8", "3", "Ada", "3"), ("6.8", "4", "Grace", "3"))
    assert "shortest nights" in capsys.readouterr().out and "shortest nights" in (folder / "class.html").read_text()


def test_what_is_no_hand_in_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if one bad file ends the command, or is passed over in silence, on the page, too; if a file of another version
    is said to be none, or one that an editor has saved is none; or if an empty folder makes an empty page."""
    (folder / "other.json").write_text("{}")
    (folder / "broken.json").write_text("{")
    (folder / "minikafka-Alan.json").write_text(json.dumps({"kind": classroom.KIND, "version": 1, "exercises": [1]}))
    ada = json.dumps({**record.empty(), "kind": classroom.KIND, "name": "Saved by an editor"})
    (folder / "mark.json").write_text(ada, encoding="utf-8-sig")
    (folder / "older.json").write_text(ada.replace('"version": 1', '"version": 0'))
    assert main(["class", str(folder)]) == 0
    told, page = capsys.readouterr(), (folder / "class.html").read_text()
    assert "3 students" in told.out and "Saved by an editor" in told.out
    assert "older.json is of another version of the course (0, and this one reads 1)" in told.err
    assert "files that were not read" in told.out and "broken.json is no hand-in" in page
    for name in ("other.json", "broken.json", "minikafka-Alan.json"):
        assert f"{name} is no hand-in: ask for the file that progress().hand_in" in told.err
    empty = folder / "empty"
    empty.mkdir()
    assert main(["class", str(empty)]) == 1 and "no hand-ins" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["  ", "", None, ...])
def test_a_name_is_needed(folder: Path, name: Any) -> None:
    """Fails if a file without a name is written, or if the cell ends in an error."""
    before = sorted(folder.iterdir())
    assert progress().hand_in(name) == 'not written: give a name: progress().hand_in("Ada")'
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("name, read", [
    *((name, str(name)) for name in ("../Ada", "/etc/passwd", "王小明", "🎉", 0, "0", "-")),
    ("A" * 300, "A" * 100), ("é" * 300, "é" * 100), ("a\0b", "a b"), ("Ada\n", "Ada")])
def test_a_name_of_any_letters_is_handed_in(folder: Path, name: Any, read: str) -> None:
    """Fails if a name writes elsewhere, is refused because it is too long for a file, or is not read as one short line."""
    before = set(folder.iterdir())
    assert "written: minikafka-" in progress().hand_in(name)
    file, = set(folder.iterdir()) - before
    assert classroom.read(file).name == read


def test_the_cell_reports_a_folder_without_write_access(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if handing in from a folder that is gone ends in an error."""
    (gone := folder / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert progress().hand_in("Ada").startswith("not written: ")


@pytest.mark.soak
@pytest.mark.slow
def test_a_room_is_full_when_memory_is_short(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One student, in a real kernel, with brokers and trucks. Fails if her brokers are not counted, or if a second student is let
    in for whom there is no room."""
    monkeypatch.setattr(room, "LOOK_S", 1.0)
    monkeypatch.setattr(room, "BEGIN_S", 600.0)                                    # the machine may be busy
    monkeypatch.setattr(room, "_free_mib", lambda: room.SPARE_MIB + 50.0)      # less than a student needs
    rows: list[room.CrowdRow] = []
    monkeypatch.setattr(room, "rehearse", partial(_kept_in, rows, room.rehearse))
    assert main(["class", "--room", "2"]) == 0
    line, verdict = capsys.readouterr().out.splitlines()
    assert verdict == "no memory for more than 1 of 2 students"
    [row] = rows
    assert room.told(row) == line
    assert row.students == 1 and row.memory_mib > 100 and row.cores > 0 and row.slowest_s > 0


def test_a_room_is_full_when_a_student_waits_too_long() -> None:
    """Fails if one more student is let in on a machine whose processors are busy."""
    assert room._lacking([SimpleNamespace(waited=room.BEGIN_S + 1)]) == "processor"  # type: ignore[list-item]


def _kept_in(rows: list[room.CrowdRow], rehearse: Any, *arguments: Any) -> list[room.CrowdRow]:
    rows += rehearse(*arguments)
    return rows
