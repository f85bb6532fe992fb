"""minikafka/machine/jars.tsv: the list of what is fetched agrees with the versions that the code names, and can do no harm."""
from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from pathlib import Path

import pytest

from minikafka.machine.jars import ALL, CONNECTOR, KAFKA, KAFKA_VERSION, LIST, SPARK_VERSION, read_list

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("jars_tool", ROOT / "tools" / "jars.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

GOOD = "some-set\torg/some/thing/1.0/thing-1.0.jar\t10\t" + "0" * 64


def path_of(coordinate: str) -> str:
    group, name, version = coordinate.split(":")
    return f"{group.replace('.', '/')}/{name}/{version}/{name}-{version}.jar"


def test_the_list_holds_what_the_code_names():
    """Fails if a version in minikafka/machine/jars.py was changed and tools/jars.py not run."""
    assert list(read_list(LIST.read_text())) == [wanted.name for wanted in ALL]
    for wanted in ALL:
        assert {path_of(coordinate) for coordinate in wanted.wanted} <= {jar.path for jar in wanted.contents}
    assert len(CONNECTOR.contents) == len(CONNECTOR.wanted)


def test_one_kafka_and_one_spark():
    """Fails if jars of two versions of Kafka are mixed, or the connector is not of the Spark that is installed."""
    kafkas = {jar.path.split("/")[-2] for jar in KAFKA.contents if jar.path.startswith("org/apache/kafka/")}
    assert kafkas == {KAFKA_VERSION}
    assert importlib.metadata.version("pyspark") == SPARK_VERSION
    assert f"pyspark=={SPARK_VERSION}\n" in (ROOT / "requirements.in").read_text()


def test_the_list_is_as_the_tool_writes_it():
    """Fails if it was edited by hand, or names a machine (I-LIST-1)."""
    text = LIST.read_text()
    assert text.startswith(tool.HEAD) and "://" not in text
    rows = text.removeprefix(tool.HEAD).splitlines()
    assert rows == [f"{wanted.name}\t{jar.path}\t{jar.size}\t{jar.sha256}" for wanted in ALL
                    for jar in sorted(wanted.contents, key=lambda jar: jar.path)]


def test_a_path_in_the_repository_is_made_of_the_resolvers():
    """Fails if the dots of a group are not folders, or those of an artifact's name become some."""
    assert tool._in_repository(Path("org.some.group/kafka_2.13/4.3.0/kafka_2.13-4.3.0.jar")) == path_of(
        "org.some.group:kafka_2.13:4.3.0")


@pytest.mark.parametrize("path", ["../evil.jar", "/etc/evil.jar", "a/../../evil.jar", "a/./evil.jar", "a//evil.jar",
                                  "a/.evil.jar", "a\\..\\evil.jar", "a/-evil.jar", "a/evil.sh", "a/..", "", "a/e%2e.jar",
                                  "a/evil.jar?x", "http://somewhere/evil.jar"])
def test_a_list_cannot_write_elsewhere(path):
    """I-JARS-3: fails if a path that leaves the folder, hides or is no jar is taken from a list."""
    with pytest.raises(ValueError, match="not a jar's path"):
        read_list(f"some-set\t{path}\t10\t{'0' * 64}\n")


def test_a_list_that_cannot_be_meant_is_refused():
    """Fails if a checksum that is none, or two files for one place, are taken."""
    assert [jar.name for jar in read_list(f"# head\n{GOOD}\n")["some-set"]] == ["thing-1.0.jar"]
    with pytest.raises(ValueError, match="SHA-256"):
        read_list(re.sub("0{64}", "", GOOD))
    with pytest.raises(ValueError, match="two files of one name in some-set: thing-1.0.jar"):
        read_list(GOOD + "\n" + GOOD.replace("org/some", "org/other"))
