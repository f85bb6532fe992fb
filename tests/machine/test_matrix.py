"""Every machine that a student may have: `make lab`, a kernel, and in it what the labs start (lesson.py).

One run has many odd things at once; the whole table, each thing by itself, is `make long`'s.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from minikafka.machine.files import LINKS
from minikafka.machine.jars import CONNECTOR
from tests.machine.place import LESSON, ROOT, cache, checkout, lab

NOON = [["12:00:00", 0], ["12:00:01", 1000], ["12:00:02", 2000]]
RIGHT = {"consumed": ["0", "1", "2"], "format": "kafka", "kafka": NOON, "minikafka": NOON, "stream": [[0, 2]],
         "own stream": ["2025-06-02 12:00:00", "2025-06-02 12:00:01", "2025-06-02 12:00:02"]}
ODD = "Élève O'Brien #1 50%, {a}"
NO_CONNECTOR = "Spark's Kafka connector is not in the cache (`make apache` fetches it)"
pytestmark = [pytest.mark.proof, pytest.mark.spark, pytest.mark.timeout(600),
              pytest.mark.skipif(not CONNECTOR.present, reason=NO_CONNECTOR)]


@dataclass
class Place:
    """One machine, as an axis changes it: folders, what they are called, and variables."""

    folder: Path
    root: Path = ROOT
    variables: dict[str, str] = field(default_factory=dict)
    files: int | None = None

    def __post_init__(self) -> None:
        self.home = self.make("home")

    def make(self, name: str) -> Path:
        (made := self.folder / name).mkdir(parents=True)
        return made

    def move(self, name: str = ODD) -> None:
        """Let the checkout lie in a folder of this name."""
        self.root = checkout(self.folder / name / "minikafka")


def modules(folder: Path) -> Path:
    """Put a module of each name that Python or one of our packages has into a folder; none can be imported."""
    folder.mkdir(exist_ok=True)
    names = {*sys.stdlib_module_names, *importlib.metadata.packages_distributions(), "utils", "helpers"}
    for name in names:
        if name.isidentifier():
            (folder / f"{name}.py").write_text('raise ImportError("this module is another course\'s")\n')
    return folder


def spark(place: Place) -> dict[str, str]:
    """Return the variables of another course's Spark, whose commands and settings are there."""
    home = place.make("spark")
    for name in ("bin/spark-submit", "bin/spark-class", "bin/load-spark-env.sh", "conf/spark-env.sh"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text("#!/bin/sh\nexit 3\n")
        (home / name).chmod(0o755)
    (home / "conf" / "spark-defaults.conf").write_text(
        "spark.master spark://gone:7077\nspark.sql.session.timeZone Asia/Tokyo\nspark.jars /gone.jar\nspark.plugins Gone\n")
    return {"SPARK_HOME": str(home), "SPARK_CONF_DIR": str(home / "conf"), "SPARK_LOCAL_DIRS": "/dev/null",
            "SPARK_LOCAL_IP": "192.0.2.1", "SPARK_SUBMIT_OPTS": "-Dgone", "SPARK_REMOTE": "sc://gone", "SPARK_TESTING": "1",
            "PYSPARK_SUBMIT_ARGS": "--packages gone:gone:1 pyspark-shell", "PYSPARK_PYTHON": "/gone/python",
            "PYSPARK_DRIVER_PYTHON": "jupyter", "PYSPARK_DRIVER_PYTHON_OPTS": "notebook", "PYSPARK_GATEWAY_PORT": "1",
            "HADOOP_HOME": "/gone", "HADOOP_CONF_DIR": "/gone", "YARN_CONF_DIR": "/gone", "ARROW_PRE_0_15_IPC_FORMAT": "1"}


def java(place: Place) -> dict[str, str]:
    """Return the variables of another course's Java: one that is too old, and options that no Java starts with."""
    binary = place.make("java/bin") / "java"
    binary.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_292\"' >&2\n")
    binary.chmod(0o755)
    options = dict.fromkeys(("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"), "-XX:NoSuchOption")
    return {"JAVA_HOME": str(binary.parent.parent), "CLASSPATH": "/gone.jar", "KAFKA_OPTS": "-javaagent:/gone.jar",
            "KAFKA_HEAP_OPTS": "-Xmx1k", "LOG4J_CONFIGURATION_FILE": "/gone.xml", **options}


def python(place: Place) -> dict[str, str]:
    """Return the variables of another Python."""
    startup = place.folder / "startup.py"
    startup.write_text("raise SystemExit('another start-up file')\n")
    return {"PYTHONPATH": str(modules(place.make("modules"))), "PYTHONHOME": "/gone", "PYTHONSTARTUP": str(startup),
            "PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONINSPECT": "1", "PYTHONIOENCODING": "ascii"}


def jupyter(place: Place) -> dict[str, str]:
    """Return the variables of another course's Jupyter; what it left in the home folder is there, too."""
    for folder in (place.make("share"), place.home / ".local" / "share" / "jupyter"):
        (kernel := folder / "kernels" / "python3").mkdir(parents=True)
        (kernel / "kernel.json").write_text(json.dumps({"argv": ["/gone/python"], "display_name": "", "language": "python"}))
    for folder in (place.make("ipython"), place.home / ".ipython"):
        (startup := folder / "profile_default" / "startup").mkdir(parents=True)
        modules(other := startup.parent / "spark")
        (startup / "00-findspark.py").write_text(f"import sys\nsys.path[:0] = [{str(other)!r}]\n")
    return {"JUPYTER_PATH": str(place.folder / "share"), "JUPYTER_CONFIG_PATH": "/gone", "JUPYTER_PREFER_ENV_PATH": "0",
            "IPYTHONDIR": str(place.folder / "ipython")}


def beside_the_notebook(place: Place) -> None:
    """Put modules of our names into the folder of the notebooks; the names of notebooks stay."""
    place.move("minikafka")
    modules(place.root / "labs")


def all_at_once(place: Place) -> None:
    """Change what does not need a start of its own to be seen."""
    place.move()
    modules(place.root / "labs")
    kept = cache(place.folder / f"cache {ODD}")
    place.variables = {**spark(place), **java(place), **python(place), **jupyter(place), "MINIKAFKA_CACHE": str(kept),
                       "TMPDIR": str(place.make(f"tmp {ODD}")), "TZ": "Asia/Kolkata", "LC_ALL": "C", "LANG": "tr_TR.UTF-8",
                       "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "http_proxy": "http://127.0.0.1:9", "all_proxy": "socks5://gone"}
    place.files = 256


def variables(**values: str) -> Callable[[Place], None]:
    return lambda place: place.variables.update(values)


def of(course: Callable[[Place], dict[str, str]]) -> Callable[[Place], None]:
    return lambda place: place.variables.update(course(place))


def moved_to(name: str) -> Callable[[Place], None]:
    return lambda place: place.move(name)


def temporary(name: str) -> Callable[[Place], None]:
    return lambda place: place.variables.update(TMPDIR=str(place.make(name)))


def kept_in(name: str) -> Callable[[Place], None]:
    return lambda place: place.variables.update(MINIKAFKA_CACHE=str(cache(place.folder / name)))


def living_in(name: str) -> Callable[[Place], None]:
    """Let the home folder have this name; the cache is in it."""
    def change(place: Place) -> None:
        place.home = place.make(name)
        cache(place.home / ".cache" / "minikafka")
        place.variables["MINIKAFKA_CACHE"] = ""
    return change


def few_files(place: Place) -> None:
    place.files = 256


LONG = "/".join(["a folder with a long name"] * 6)
TABLE: dict[str, Callable[[Place], None]] = {
    **{f"zone {zone}": variables(TZ=zone) for zone in ("Europe/London", "America/New_York", "Asia/Kolkata", "Pacific/Chatham")},
    **{f"project in {name}": moved_to(name) for name in ("My Labs", "Élève", "O'Brien", "a#1 50%", LONG)},
    **{f"cache in {name}": kept_in(name) for name in ("a b", "\u65e5\u672c", "O'Brien", "#1 50%, {a}", "a:b")},
    **{f"temporary folder {name}": temporary(name) for name in ("a b", "\u65e5\u672c", "O'Brien #1 50%, {a}", "a:b", LONG)},
    "temporary folder gone": variables(TMPDIR="/gone"),
    **{f"home {name}": living_in(name) for name in ("My Home", "O'Brien #1 50%", "Élève")},
    "home gone": variables(HOME="/dev/null/gone"),
    **{f"language {language}": variables(LC_ALL=language, LANG=language, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
       for language in ("C", "POSIX", "tr_TR.UTF-8", "de_DE.ISO-8859-1")},
    "another Spark": of(spark), "another Java": of(java), "another Python": of(python), "another Jupyter": of(jupyter),
    "a Spark that is gone": variables(SPARK_HOME="/gone"), "a Java that is gone": variables(JAVA_HOME="/gone"),
    "modules beside the notebook": beside_the_notebook,
    "a proxy": variables(**dict.fromkeys(("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"), "http://127.0.0.1:9")),
    "few files": few_files,
}


def told(place: Place) -> dict[str, Any]:
    """Return the lesson's output on that machine; the links that were made for it go."""
    place.variables.setdefault("MINIKAFKA_CACHE", str(Path("~/.cache/minikafka").expanduser()))
    try:
        with lab(place.root, place.home, place.variables, place.files) as opened:
            line = next(line for line in opened.run(LESSON.read_text()).splitlines() if line.startswith("TOLD "))
            return {**json.loads(line.removeprefix("TOLD ")), "terminal": opened.text}
    finally:
        for link in LINKS.glob(f"mk-{os.geteuid()}-*"):
            with suppress(FileNotFoundError):  # of another worker, which has ended too
                if str(place.folder) in os.readlink(link):
                    link.unlink()
        shutil.rmtree(place.folder, ignore_errors=True)


def test_many_odd_things_at_once(tmp_path: Path) -> None:
    """Fails if one of them keeps something of the labs from starting, changes a time, or is set aside without a word."""
    place = Place(tmp_path)
    all_at_once(place)
    found = told(place)
    assert {name: found.get(name) for name in RIGHT} == RIGHT, found["terminal"]
    assert found["0.0"].startswith("✔ 0.0 PASS") and found["12.4"].startswith("✔ 12.4 PASS"), found
    for name in ("SPARK_HOME", "PYSPARK_SUBMIT_ARGS", "JAVA_TOOL_OPTIONS", "PYTHONPATH", "PYTHONOPTIMIZE", "JUPYTER_PATH"):
        assert name in found["0.0"] and found["terminal"].count(name) == 1


@pytest.mark.soak
@pytest.mark.parametrize("axis", TABLE)
def test_one_odd_thing(tmp_path: Path, axis: str) -> None:
    """Fails if this keeps something of the labs from starting, or changes a time."""
    place = Place(tmp_path)
    TABLE[axis](place)
    found = told(place)
    assert {name: found.get(name) for name in RIGHT} == RIGHT, found["terminal"]
    assert found["0.0"].startswith("✔ 0.0 PASS") and found["12.4"].startswith("✔ 12.4 PASS"), found
