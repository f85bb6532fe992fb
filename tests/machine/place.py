"""A machine of another make: a checkout in a folder of any name, its home, cache and temporary folder, and its variables.

The copy has its own environment, of hard links where the disk allows: a second or two, and nothing of it reaches this checkout.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client import BlockingKernelClient

from minikafka.machine.files import cache_folder

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".venv", ".git", ".cache", "build", "__pycache__", ".pytest_cache", ".hypothesis", ".ruff_cache", "solutions")
LESSON = Path(__file__).with_name("lesson.py")
PATIENCE = 240.0  # seconds


def link(source: str, target: str) -> None:
    """Make a hard link, or a copy where the two lie on different disks."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def checkout(to: Path) -> Path:
    """Make a checkout with its own environment in the folder `to`, and return it."""
    shutil.copytree(ROOT, to, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    shutil.copytree(ROOT / ".venv", to / ".venv", symlinks=True, copy_function=link)
    for finder in (to / ".venv" / "lib").glob("python3*/site-packages/__editable___minikafka*_finder.py"):
        text = finder.read_text().replace(repr(str(ROOT / "minikafka")), repr(str(to / "minikafka")))
        finder.unlink()  # a link: the other name keeps its text
        finder.write_text(text)
    return to


def cache(to: Path) -> Path:
    """Make a cache that has the jars, in the folder `to`, and return it."""
    shutil.copytree(cache_folder() / "jars", to / "jars", copy_function=link)
    return to


class Lab:
    """`make lab` in a checkout, and one kernel that its server has started; `run` gives the kernel a cell."""

    def __init__(self, root: Path, home: Path, variables: Mapping[str, str], files: int | None = None) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "MINIKAFKA", "PYTHON"))}
        self.said, self.places = home / "said", (home, root / ".cache" / "home")
        # `-o setup`: the environment is a copy, which make would install anew.
        command = ["make", "-o", "setup", "lab", "ARGS=--no-browser --ServerApp.port=0"]
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))) if files else None
        with self.said.open("w") as told:
            self.process = subprocess.Popen(command, cwd=root, env={**plain, "HOME": str(home), **variables}, stderr=told,
                                            stdout=told, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit)
        address = self._wait(lambda: re.search(r"(http://127\.0\.0\.1:\d+)/lab\S*\?token=(\w+)", self.text))
        self.address, self.token = address.groups()
        kernel = self._wait(lambda: self._ask("POST", "/api/kernels", {"name": "python3", "path": "labs"}))["id"]
        found = self._wait(lambda: next((file for place in self.places for file in place.rglob(f"kernel-{kernel}.json")), None))
        self.client = BlockingKernelClient(connection_file=str(found))
        self.client.load_connection_file()
        self.client.start_channels(hb=False)
        self._wait(self._heard)

    @property
    def text(self) -> str:
        return self.said.read_text(errors="replace")

    def run(self, cell: str) -> str:
        """Return what the cell prints; raises AssertionError with its error and the server's words."""
        printed: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])
        reply = self.client.execute_interactive(cell, timeout=PATIENCE, output_hook=hear, allow_stdin=False)["content"]
        trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(reply.get("traceback", ())))
        assert reply["status"] == "ok", f"{trace}\n{''.join(printed)}\n{self.text}"
        return "".join(printed)

    def close(self) -> None:
        """End the kernel and the server, as Ctrl-C in the terminal does."""
        with contextlib.suppress(AttributeError):
            self.client.stop_channels()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def _ask(self, method: str, path: str, body: Mapping[str, str]) -> Any:
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), method=method, headers={
            "Authorization": f"token {self.token}"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.URLError:  # it prints its address before it listens
            return None

    def _heard(self) -> bool:
        """Ask the kernel something; return whether both channels answer (wait_for_ready takes a slow kernel for a dead one)."""
        self.client.kernel_info()
        try:
            return bool(self.client.get_shell_msg(timeout=5) and self.client.get_iopub_msg(timeout=1))
        except Empty:
            return False

    def _wait(self, look: Any) -> Any:
        until = time.monotonic() + PATIENCE
        while not (found := look()):
            assert self.process.poll() is None and time.monotonic() < until, self.text
            time.sleep(0.1)
        return found


@contextlib.contextmanager
def lab(root: Path, home: Path, variables: Mapping[str, str], files: int | None = None) -> Iterator[Lab]:
    """Open a Lab, and close it."""
    opened = Lab.__new__(Lab)
    try:
        opened.__init__(root, home, variables, files)  # type: ignore[misc]  # closed also where it does not come up
        yield opened
    finally:
        opened.close()
