"""The log of each simulated process: the lines that its code writes through `logging`, apart from those of all others.

Owns: the handler of the logger "minikafka". The running event loop shows which process writes a line.
"""

from __future__ import annotations

import logging
from asyncio import events

from minikafka.broker.server.log_lines import OneLine
from minikafka.sim.world.loop import ProcessLoop

FORMAT = "%(levelname)s %(name)s %(message)s"


class _Keep(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        loop = events._get_running_loop()
        if isinstance(loop, ProcessLoop):
            loop.lines.append(f"{loop.timeline.clock:.3f} {self.format(record)}")
        elif logging.lastResort is not None and record.levelno >= logging.WARNING and not logging.root.handlers:
            logging.lastResort.handle(record)  # as `logging` does without a handler


_handler = _Keep()
_handler.setFormatter(OneLine(FORMAT))


def keep_log_lines(level: int | None = None) -> None:
    """Keep the last log lines of each process from now on; `level` is the lowest that is kept."""
    logger = logging.getLogger("minikafka")
    logger.addHandler(_handler)
    if level is not None:
        logger.setLevel(level)
