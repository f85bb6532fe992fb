"""minikafka/machine/environment.py: the table, and what holds in a process after `settle`."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from minikafka.cluster.doctor import findings
from minikafka.machine.environment import KEPT, ROOT, foreign, lent, settle
from minikafka.machine.files import plain

LEFT = {  # what courses, desktops and administrators leave behind
    "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP", "SPARK_SUBMIT_OPTS", "SPARK_JAVA_OPTS", "SPARK_REMOTE",
    "SPARK_CLASSPATH", "SPARK_DIST_CLASSPATH", "SPARK_ENV_LOADED", "SPARK_TESTING", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON",
    "PYSPARK_DRIVER_PYTHON", "PYSPARK_DRIVER_PYTHON_OPTS", "PYSPARK_GATEWAY_PORT", "PYSPARK_PIN_THREAD", "HADOOP_HOME",
    "HADOOP_CONF_DIR", "HADOOP_CLASSPATH", "HADOOP_USER_NAME", "YARN_CONF_DIR", "HIVE_CONF_DIR", "ARROW_PRE_0_15_IPC_FORMAT",
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "LOG4J_CONFIGURATION_FILE",
    "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT", "PYTHONIOENCODING",
    "JUPYTER_PATH", "JUPYTER_CONFIG_PATH"}
OF_A_CLUSTER = {"PYSPARK_PYTHON", "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "HADOOP_HOME", "HADOOP_CONF_DIR", "HADOOP_CLASSPATH",
                "HADOOP_USER_NAME", "YARN_CONF_DIR"}
NEEDED = ("PATH", "HOME", "SPARK_MASTER", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHON_VERSION", "MINIKAFKA_CACHE", "JAVA_HOME",
          "LD_LIBRARY_PATH", "SSL_CERT_FILE", "https_proxy", "KAFKA_OPTS", "TMPDIR")


def test_what_is_set_aside() -> None:
    """Fails if a variable of the table's kinds stays, or one that the labs, the machine or a Spark cluster needs goes."""
    everything = dict.fromkeys([*LEFT, *NEEDED], "/x")
    assert set(foreign({**everything, "SPARK_MASTER": "local[4]"})) == LEFT
    assert set(foreign({**everything, "SPARK_MASTER": "spark://master:7077"})) == LEFT - OF_A_CLUSTER
    assert foreign({"PYTHONPATH": str(ROOT), "PYTHONSTARTUP": str(ROOT / "minikafka/lab/startup.py"), "SPARK_HOME": ""}) == []


def run(code: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", f"from minikafka.machine.environment import settle\n{code}"], cwd=cwd, text=True,
                          env={**os.environ, **variables}, capture_output=True, timeout=60)


def test_said_once() -> None:
    """I-SETTLE-1, I-SETTLE-2. Fails if there is no line, if a process below prints it again, or gets what was set aside."""
    below = "\n".join(("from minikafka.machine.environment import settle", "settle()", "import os",
                       "print([os.environ.get(n) for n in ('SPARK_HOME', 'TZ')])"))
    done = run(f"settle()\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', {below!r}])",
               SPARK_HOME="/opt/spark-2.4", MINIKAFKA_UNSAID="PYTHONHOME", TZ="Asia/Kolkata")
    assert done.stderr == "Set aside, for this course needs its own: PYTHONHOME, SPARK_HOME.\n"
    assert done.stdout == "[None, 'UTC']\n"


def test_processes_below_keep_what_they_compile() -> None:
    """Fails if a broker, where Python was told to write no bytecode, compiles all that it imports at each start."""
    below = "import sys; print(sys.dont_write_bytecode)"
    done = run(f"settle()\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', {below!r}])",
               PYTHONDONTWRITEBYTECODE="1")
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_modules_of_the_course_come_first(tmp_path: Path) -> None:
    """I-SETTLE-3. Fails if another course's module of one of our names is taken, or a student's own module is not found."""
    for name in ("kafka", "pandas", "my_own"):
        (tmp_path / f"{name}.py").write_text("theirs = True\n")
    done = run("import sys; sys.path.insert(0, ''); settle()\n"
               "import kafka, pandas, my_own; print([hasattr(m, 'theirs') for m in (kafka, pandas, my_own)])",
               tmp_path, PYTHONPATH=str(tmp_path))
    assert done.stdout == "[False, False, True]\n", done.stderr


def test_the_makefile_takes_the_same_names() -> None:
    """Fails if make sets aside a variable of Python's that the table keeps, or the other way round."""
    line = next(line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("OTHERS"))
    kept = re.search(r"\$\(filter-out (.*),\$\(filter PYTHON%", line)
    assert kept is not None
    silent = "PYTHONDONTWRITEBYTECODE"  # make takes it away too, without a word: no result depends on it
    assert set(kept[1].replace("%", "*").split()) == {silent, *(name for name in KEPT if name.startswith("PYTHON"))}


def test_what_is_lent_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a cluster that starts while Spark starts takes away what Spark's launcher is about to read."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with lent(SPARK_HOME="/ours"):
        other = threading.Thread(target=settle)
        other.start()
        other.join()
        assert os.environ["SPARK_HOME"] == "/ours"
    assert "SPARK_HOME" not in os.environ


@pytest.mark.parametrize("odd", ["a b", "Élève", "\u65e5\u672c", "O'Brien", 'say "x"', "#1", "50%", "a,b", "a:b", "a;b", "{a}",
                                 "[a]", "a*", "$HOME", "a\\b", "a+b", "~a", "a=b"])
def test_java_gets_plain_paths(tmp_path: Path, odd: str) -> None:
    """Fails if a path that Java could not take goes to it as it is, or leads elsewhere."""
    (folder := tmp_path / odd / "cache").mkdir(parents=True)
    taken = plain(folder)
    try:
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", str(taken)) and taken.samefile(folder) and plain(folder) == taken
        assert plain(tmp_path) == tmp_path
    finally:
        taken.parent.unlink()


def test_a_link_of_another_is_not_followed(tmp_path: Path) -> None:
    """Fails if what another user of the machine has put in our link's place is taken for our folder."""
    (folder := tmp_path / "a b").mkdir()
    first = plain(folder)
    first.unlink()
    first.symlink_to(tmp_path)
    second = plain(folder)
    assert second != first and second.samefile(folder)
    first.unlink()
    second.unlink()


@pytest.mark.parametrize("most, needed", [(256, True), (2048, False)])
def test_too_few_files_are_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch, most: int, needed: bool) -> None:
    """Fails if a machine on which Java cannot open its jars passes check 0.0, or if the error has no remedy."""
    monkeypatch.setattr(resource, "getrlimit", lambda which: (most, most))
    (found,) = (finding for finding in findings() if finding.what == "open files")
    assert (found.good, found.needed) == (False, needed) and "ulimit -n 4096" in found.remedy
