"""The cluster that `Cluster()` makes in a notebook inside a world: simulated, with what cells call of a live one.

Owns: nothing. What is live only is refused in one sentence, which says what it needs.
"""
from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minikafka.client import Blocking
from minikafka.cluster.folder import temporary_folder
from minikafka.cluster.trace import Trace
from minikafka.cluster.watch import watch
from minikafka.lab.page.folder import Files
from minikafka.lab.page.passing import Passing
from minikafka.lab.page.trace import WorldTrace
from minikafka.sim.engine.cluster import SimCluster

if TYPE_CHECKING:
    from minikafka.lab.page.notebook import Notebook


class WorldCluster(SimCluster):
    """A simulated cluster to which the notebook's own clients connect."""

    notebook: Notebook | None = None

    def __init__(self, *args: Any, **settings: Any) -> None:
        self.members: dict[str, Any] = {}
        self.files: Files | None = None  # from the first time that somebody asks for them
        self._place_of_traces, self._lock = temporary_folder()
        self.passing = Passing(self)
        super().__init__(*args, **settings)

    def _place(self) -> dict[str, Any]:
        assert self.notebook is not None
        return {"timeline": self.notebook.timeline, "port": self.notebook.next_port()}

    def _made(self) -> None:
        assert self.notebook is not None
        self.notebook.reach(self.world)
        self.notebook.traces[self._place_of_traces] = self.world

    def watch(self, client: Any, name: str | None = None) -> Any:
        """Have a client of kafka-python, or one made here, write to the trace what it sends and reads; return the client."""
        if isinstance(client, Blocking):
            return super().watch(client, name)
        return watch(client, self.world.tell, name, self._record_numbers)

    @property
    def trace(self) -> Trace:
        return WorldTrace(self.world, self._place_of_traces)

    @property
    def folder(self) -> Path:
        """Return the folder with the files of all nodes."""
        assert self.notebook is not None
        if self.files is None:
            self.files = Files(self.world)
            self.notebook.timeline.files.append(self.files)
        self.files.show()  # a broker that was killed just now may have lost some
        return self.files.path

    @property
    def addresses(self) -> set[str]:
        """Return what clients connect to, also when the cluster has ended."""
        return {f"{self.world.hosts[node].name}:{self.world.port}" for node in self.ids}

    def _end(self) -> None:
        if not self._closed:
            if self.passing is not None:
                self.passing.stop()
            super()._end()
            shutil.rmtree(self._place_of_traces, ignore_errors=True)
            os.close(self._lock)
            if self.files is not None:
                self.notebook.timeline.files.remove(self.files)
                self.files.remove()
