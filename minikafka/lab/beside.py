"""What a kernel of the labs does beside each cell, from the first `import minikafka.lab` on (`make lab`: from its start on).

    before a cell     what its last run has begun ends (again.py); it tells its line if it takes long (waiting.py); pandas
                      shows a lab's tables whole; clients of kafka-python soon try a dead broker again
    after a cell      a name that is missing is explained (names.py)
    at an error       of a client, a cluster or a wait: the cluster's state, and what brings it back (trouble.py)

Owns: nothing.
"""
from __future__ import annotations

import sys
from typing import Any

from minikafka.lab.again import after_cell as note_what_was_begun
from minikafka.lab.again import before_cell as end_what_was_begun
from minikafka.lab.names import after_cell as explain_a_name
from minikafka.lab.names import shell as this_shell
from minikafka.lab.waiting import after_cell as tell_nothing
from minikafka.lab.waiting import before_cell as tell_a_long_cell
from minikafka.machine.environment import settle

ROWS = 200  # of a table; pandas shows ten of more than sixty
RECONNECT_MS = 1000  # the default of Kafka's own client; kafka-python waits up to 30 s before it tries a dead broker again


def show_whole_tables(_: object = None) -> None:
    """Let pandas show all rows of a lab's table, once it is imported, unless the student chose another number."""
    pandas = sys.modules.get("pandas")
    if hasattr(pandas, "set_option") and pandas.get_option("display.max_rows") == 60:
        pandas.set_option("display.max_rows", ROWS)


def reconnect_soon(_: object = None) -> None:
    """Let clients of kafka-python, once it is imported, wait RECONNECT_MS at most before they try a broker again.

    A new client chooses its first broker by chance and tries that one again, with longer and longer pauses, though another lives.
    """
    clients = [getattr(sys.modules.get("kafka"), name, None) for name in ("KafkaProducer", "KafkaConsumer", "KafkaAdminClient")]
    for default in (client.DEFAULT_CONFIG for client in clients if client is not None):
        default["reconnect_backoff_max_ms"] = min(default["reconnect_backoff_max_ms"], RECONNECT_MS)


EVENTS = (("pre_run_cell", show_whole_tables), ("pre_run_cell", reconnect_soon), ("pre_run_cell", end_what_was_begun),
          ("pre_run_cell", tell_a_long_cell), ("post_run_cell", tell_nothing), ("post_run_cell", note_what_was_begun),
          ("post_run_cell", explain_a_name))


def install() -> None:
    """Set the environment right, and do what stands above from now on; once in a kernel, however often this is called.

    Elsewhere than in IPython: nothing. A Python worker of Spark, which imports lab/spark/, keeps what Spark gave it.
    """
    shell = this_shell()
    if shell is None or getattr(shell, "minikafka_beside", False):
        return
    shell.minikafka_beside = True
    settle()
    for event, act in EVENTS:
        shell.events.register(event, act)
    shell.set_custom_exc((Exception,), explain)


def explain(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None) -> list[str]:
    """Show an error of a cell. What explains it is imported only now: most cells have none."""
    from minikafka.lab.trouble import show
    return show(shell, kind, error, trace, tb_offset)
