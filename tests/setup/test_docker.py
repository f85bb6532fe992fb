"""docker/ and what else starts the labs in a container, as far as it can be read: one lock, one command, loopback only."""
from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from minikafka import Cluster
from minikafka.cluster.plan import Plan, new_plan, open_plan

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
# JSON with comments, and with nothing else that JSON has not.
DEVCONTAINER = json.loads(re.sub(r"(?m)^\s*//.*$", "", (ROOT / ".devcontainer" / "devcontainer.json").read_text()))


def test_the_image_is_made_from_the_lock():
    """Fails if the image installs anything that the lock does not pin, or brings a Java or a Kafka of its own."""
    installs = [line for line in DOCKERFILE.splitlines() if "pip install" in line]
    assert installs and all("-r requirements.lock" in line for line in installs)
    assert "make setup" in DOCKERFILE and "openjdk" not in DOCKERFILE


def test_the_container_runs_the_same_command_as_everyone():
    """Fails if `make lab` and the container open different things."""
    assert 'CMD ["make", "lab"' in DOCKERFILE


def test_the_port_is_published_on_loopback_only():
    """Fails if a classroom's network could reach the notebook server."""
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert len(ports) == len(set(ports)) == 2 and all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("name", ["lab", "kafka"])
def test_the_address_that_is_printed_opens_the_labs(name):
    """Fails if a service prints, after 127.0.0.1, a port at which a browser outside finds nothing, or another service."""
    service = COMPOSE["services"][name]
    command = service.get("command") or json.loads(DOCKERFILE.rpartition("CMD ")[2])
    (published,) = service["ports"]
    _, outside, inside = published.split(":")
    assert command[:2] == ["make", "lab"] and "--ip=0.0.0.0" in command[2]
    assert outside == inside == re.findall(r"--port=(\d+)", command[2])[0]


def test_compose_yaml_has_only_keys_that_compose_knows():
    """Fails if a key is mistyped, or if a service may start before the one whose network or image it takes: not every
    implementation of compose sees that order without `depends_on`."""
    services = COMPOSE["services"]
    assert set(COMPOSE) == {"name", "services", "volumes"}
    for name, service in services.items():
        assert set(service) <= {"image", "build", "command", "depends_on", "environment", "init", "network_mode", "ports",
                                "profiles", "volumes"}, name
        kind, _, other = service.get("network_mode", "").partition(":")
        assert not kind or (kind == "service" and other in service["depends_on"] and "ports" not in service), name
        assert set(service.get("depends_on", [])) <= set(services) - {name}
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= set(COMPOSE["volumes"])
    builds = [name for name, service in services.items() if "build" in service]
    assert builds == ["lab"] and services["kafka"]["depends_on"] == builds


def test_what_a_student_did_is_kept_with_the_notebooks():
    """Fails if `docker compose down` keeps the notebooks and loses the exercises that were passed in them."""
    (kept,) = {volume.partition(":")[2] for service in COMPOSE["services"].values() for volume in service.get("volumes", [])}
    assert f"\nENV MINIKAFKA_PROGRESS={kept}/" in DOCKERFILE


def test_the_profile_kafka_has_the_image_s_brokers_and_jars():
    """Fails if the profile fetches another Kafka, starts without its option, or has brokers that no lab can reach."""
    services = COMPOSE["services"]
    asked = {name for name, service in services.items() if service.get("profiles") == ["kafka"]}
    assert set(services) - asked == {"lab"} and {service["image"] for service in services.values()} == {"minikafka"}
    assert services["kafka"]["environment"] == {"MINIKAFKA_ENGINE": "apache"} and "RUN make apache" in DOCKERFILE
    assert services["brokers"]["network_mode"] == "service:kafka", "all brokers listen on loopback"


def test_standing_brokers_have_the_requested_ports(tmp_path):
    """The command of the service `brokers`, on our engine. Fails if clients would have to look for the ports in a log."""
    (asked,) = (str(node.client) for node in _free_plan(tmp_path / "other").brokers)
    command = ["start", "--brokers", "1", "--data", str(tmp_path / "kept"), "--port", asked]
    with subprocess.Popen([sys.executable, "-m", "minikafka", *command], stdout=subprocess.PIPE, text=True, cwd=ROOT) as started:
        try:
            assert started.stdout is not None and started.stdout.readline().endswith(f"at 127.0.0.1:{asked}\n")
            cluster = Cluster.connect(f"127.0.0.1:{asked}")
            assert cluster.ids == [1]
            cluster.close()
        finally:
            started.terminate()
    kept = open_plan(tmp_path / "kept", "minikafka", {})
    assert started.returncode == 0 and kept is not None and [str(node.client) for node in kept.brokers] == [asked]


def _free_plan(folder: Path) -> Plan:
    return new_plan(folder, "minikafka", 1, None, {})


def test_devcontainer_json_has_only_keys_that_its_readers_know():
    """Fails if a key is mistyped (the readers ignore it without a word), or if the port that is forwarded is not the labs'."""
    assert set(DEVCONTAINER) == {"name", "build", "remoteUser", "hostRequirements", "onCreateCommand", "postAttachCommand",
                                 "forwardPorts", "portsAttributes", "customizations"}
    assert set(DEVCONTAINER["build"]) == {"dockerfile", "context", "target"}
    (port,) = DEVCONTAINER["forwardPorts"]
    assert list(DEVCONTAINER["portsAttributes"]) == [str(port)] and f"--port={port}" in DEVCONTAINER["postAttachCommand"]
    assert set(DEVCONTAINER["hostRequirements"]) == {"cpus", "memory", "storage"}
    assert all(re.fullmatch(r"\d+gb", DEVCONTAINER["hostRequirements"][each]) for each in ("memory", "storage"))


def test_a_click_starts_the_course():
    """.devcontainer/ and Binder's postBuild. Fails if either names a stage, a target or a file that is not there."""
    found = DEVCONTAINER
    assert (ROOT / ".devcontainer" / found["build"]["dockerfile"]).samefile(ROOT / "docker" / "Dockerfile")
    assert f"AS {found['build']['target']}\n" in DOCKERFILE and f"useradd --create-home {found['remoteUser']}" in DOCKERFILE
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"setup", "apache"} <= targets and found["onCreateCommand"] == "make setup apache"
    assert found["postAttachCommand"].startswith("make lab ")
    script = (ROOT / "postBuild").read_text()
    assert all((ROOT / path).exists() for path in re.findall(r"minikafka/\S+", script))
    subprocess.run(["bash", "-n", str(ROOT / "postBuild")], check=True)
