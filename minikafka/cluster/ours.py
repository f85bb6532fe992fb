"""The engine "minikafka": our brokers, one Python process each, forked from one that has imported their code.

Owns: the properties that differ from Apache's. Replication, quorum and controller share one listener, INTERNAL.
"""

from __future__ import annotations

from pathlib import Path

from minikafka.machine.files import write_atomic

from .closed import ClosedFolder
from .engine import client_listeners, common_properties, listener, protocols, render
from .plan import HOST, NodePlan, Plan
from .process import Child, Launcher


class Ours:
    """Starts what `python -m minikafka.broker FILE` starts for a node."""

    name = "minikafka"
    link_faults = True
    traces = True

    def prepare(self, plan: Plan, node: NodePlan) -> None:
        plan.keep_secret()
        write_atomic(node.properties, render(self._properties(plan, node)))

    def start(self, plan: Plan, node: NodePlan, launcher: Launcher) -> Child:
        return launcher.fork(node.properties, node.log)

    def _properties(self, plan: Plan, node: NodePlan) -> dict[str, str]:
        clients, told = client_listeners(plan, node)
        internal, closed = listener("INTERNAL", node.internal), ClosedFolder(plan)
        voters = [f"{voter.id}@{HOST}:{voter.internal}" for voter in plan.voters]
        return {
            **common_properties(plan, node),
            "listeners": ",".join([*clients, internal]),
            "advertised.listeners": ",".join([*told, internal]),
            "listener.security.protocol.map": protocols(plan, node),
            "inter.broker.listener.name": "INTERNAL",
            "controller.quorum.voters": ",".join(voters),
            "minikafka.cluster.id": plan.cluster_id,
            "minikafka.cluster.secret.file": str(plan.secret),
            **({"minikafka.first.user.file": str(closed.user)} if closed.scram else {}),
            "minikafka.trace.file": str(_trace_file(plan, node)),
        }


def _trace_file(plan: Plan, node: NodePlan) -> Path:
    """Return a file of its own for every start, so that an event torn by kill -9 is the last of its file."""
    starts = len(list(plan.trace.glob(f"node-{node.id}.*.trace")))
    return plan.trace / f"node-{node.id}.{starts + 1:04}.trace"
