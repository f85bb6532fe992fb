"""A Spark cluster on this machine: a master and workers as processes of their own, from the PySpark that is installed.

    with Standalone(workers=2) as master:
        spark = spark_session(master)         # or: SPARK_MASTER=spark://127.0.0.1:... for a notebook or a command

Nothing of a pipeline changes between a local session and a cluster: its tasks run in processes of the workers, and only the
driver, the session's own process, has the query, `foreachBatch` and the sink. A task of our Python source imports this
package, so a worker on another machine needs it installed; the official connector's jars are sent to the workers.

Owns: the processes and their folder. The processes end with the object, or with this process; the folder with the object, or
when the next cluster starts.
Invariants
  Ready is a condition asked of the master (each worker is alive in its eyes), never a sleep.
"""
from __future__ import annotations

import json
import shutil
import signal
import sys
import time
import urllib.request
from pathlib import Path

import pyspark

from minikafka.cluster.folder import temporary_folder
from minikafka.cluster.plan import HOST, free_ports
from minikafka.cluster.process import Child, Launcher
from minikafka.machine.files import plain
from minikafka.machine.java import use_java

READY_WITHIN = 120.0  # seconds; three Java machines on a busy two-core machine
STOP_WITHIN = 30.0
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


class Standalone:
    """A master and `workers`, each with one core and `memory` for its tasks. Use as a context manager, or call `close`.

    Raises NoJava, or RuntimeError with the end of a log if a process does not come up.
    """

    def __init__(self, workers: int = 2, memory: str = "1g") -> None:
        use_java()
        self.folder, _ = temporary_folder()
        self._launcher = Launcher("spark")
        self._children: list[Child] = []
        self._page = f"http://{HOST}:{(ports := free_ports(2))[0]}/json/"
        self.url = f"spark://{HOST}:{ports[1]}"
        try:
            self._start(MASTER, "--host", HOST, "--port", str(ports[1]), "--webui-port", str(ports[0]))
            self._wait(0)
            for number in range(workers):
                self._start(WORKER, "--host", HOST, "--webui-port", "0", "--cores", "1", "--memory", memory,
                            "--work-dir", str(self.folder / f"worker-{number + 1}"), self.url)
            self._wait(workers)
        except BaseException:
            self.close()
            raise

    def _start(self, *command: str) -> None:
        """Start one of Spark's daemons. A worker on this machine runs tasks with this interpreter."""
        home = plain(Path(pyspark.__file__)).parent
        environment = {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": HOST,
                       "PYSPARK_PYTHON": sys.executable}
        log = self.folder / f"{command[0].rsplit('.', 1)[1].lower()}-{len(self._children)}.log"
        self._children.append(self._launcher.start([str(home / "bin" / "spark-class"), *command], log, environment))

    def alive(self) -> int | None:
        """Return how many workers the master counts as alive; None while it does not answer."""
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self._page, timeout=5) as page:
                return int(json.load(page)["aliveworkers"])
        except OSError:
            return None

    def _wait(self, workers: int) -> None:
        until = time.monotonic() + READY_WITHIN
        while (found := self.alive()) is None or found < workers:
            for child in self._children:
                if child.died or time.monotonic() > until:
                    raise RuntimeError(f"Spark's cluster does not come up ({child.how_it_ended()}):\n{child.last_lines()}")
            time.sleep(0.2)

    def close(self) -> None:
        """End every process; its folder goes too."""
        for child in reversed(self._children):
            if not child.end(signal.SIGTERM, STOP_WITHIN):
                child.kill()
        self._launcher.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> str:
        return self.url

    def __exit__(self, *_: object) -> None:
        self.close()
