"""Traces written by hand: a cluster of three brokers in a few lines, in the words of broker/server/trace.py."""
from __future__ import annotations

from typing import Any

from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame

TP = "flights-0"


class Script:
    """`say` writes an event at the script's time `t`; `frame` is the picture at that time."""

    def __init__(self, brokers: int = 3, min_isr: int | None = 1, unclean: bool = False, records: int = 0) -> None:
        self.t, self.events = 100.0, []
        self.mark = 0                                  # the high watermark that followers have
        self.ids = list(range(1, brokers + 1))
        for b in self.ids:
            self.say("start", b, roles=["broker", "controller"], voters=self.ids,
                     config={"replica.lag.time.max.ms": 10000, "broker.session.timeout.ms": 3000})
            self.say("raft", b, role="follower", epoch=1, leader=1)
        self.say("raft", 1, role="leader", epoch=1, leader=1)
        for b in self.ids:
            self.say("broker", 1, id=b, state="unfenced")
            self.say("broker", b, id=b, state="unfenced")
            self.say("recover", b, tp=TP, leo=0, start=0, epochs=[], truncated_bytes=0)
        self.decide(1, 0, self.ids)
        self.lead(1, 0, min_isr, unclean)
        if records:
            self.write(records)

    # --- events ---------------------------------------------------------------------------------------------------

    def say(self, kind: str, b: int = 0, **fields: Any) -> Script:
        self.t = round(self.t + 1e-6, 6)               # one after the other
        self.events.append({"t": self.t, "w": 0, "b": b, "i": "1", "n": len(self.events) + 1, "k": kind, **fields})
        return self

    def after(self, seconds: float) -> Script:
        self.t = round(self.t + seconds, 6)
        return self

    def decide(self, leader: int, epoch: int, isr: list[int], version: int = 0, **more: Any) -> Script:
        return self.say("partition", 1, tp=TP, leader=leader, epoch=epoch, isr=isr, replicas=self.ids,
                        partition_epoch=version, **more)

    def lead(self, leader: int, epoch: int, min_isr: int | None = None, unclean: bool = False, version: int = 0) -> Script:
        for b in self.ids:
            settings = {"replicas": self.ids, "min_isr": min_isr, "unclean": unclean} if b == leader else {}
            self.say("role", b, tp=TP, role="leader" if b == leader else "follower", epoch=epoch, leader=leader,
                     isr=self.ids if b == leader else [], hw=self.mark, **{k: v for k, v in settings.items() if v is not None})
        return self.isr(self.ids, epoch, version, leader)

    def isr(self, isr: list[int], epoch: int = 0, version: int = 1, leader: int = 1) -> Script:
        return self.say("isr", leader, tp=TP, isr=isr, leader_epoch=epoch, partition_epoch=version, why="")

    def append(self, broker: int, base: int, end: int, epoch: int = 0) -> Script:
        return self.say("append", broker, tp=TP, base=base, last=end - 1, epoch=epoch, count=end - base, bytes=1)

    def write(self, end: int, base: int = 0, replicas: list[int] | None = None, epoch: int = 0) -> Script:
        """Records that reach these replicas (all), and are committed there."""
        for b in replicas or self.ids:
            self.append(b, base, end, epoch)
        self.mark = end
        for b in replicas or self.ids:
            self.say("hw", b, tp=TP, hw=end)
        return self

    def produce(self, offsets: range, client: str = "pilot") -> Script:
        """Records sent and acknowledged at these offsets, after they were written."""
        for offset in offsets:
            self.say("sent", client=client, topic="flights", partition=0, record=offset + 1)
        return self.acknowledge(offsets, client)

    def acknowledge(self, offsets: range, client: str = "pilot") -> Script:
        for offset in offsets:
            self.say("acked", client=client, tp=TP, offset=offset, record=offset + 1)
        return self

    def fault(self, name: str, *args: Any) -> Script:
        return self.say("fault", fault=name, args=list(args))

    # --- pictures -------------------------------------------------------------------------------------------------

    @property
    def run(self) -> RecordedRun:
        return RecordedRun([*self.events, {"t": self.t, "w": 0, "b": 9, "i": "1", "n": 1, "k": "nothing"}])

    def frame(self, tp: str | None = TP) -> Frame:
        return self.run.at(None, tp)

    def sentence(self) -> str:
        return self.frame().sentence.text
