"""docker/: cannot be built here (no engine), so what can be read is: the same lock, the same command, loopback only."""
from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())


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
    assert all(port.startswith("127.0.0.1:") for port in COMPOSE["services"]["lab"]["ports"])
