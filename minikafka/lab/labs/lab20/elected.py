"""The student's controller decides who leads the student's brokers (20.10): one night, judged by what FILE says and clients get.

    python my_controller.py FILE     FILE as in 20.9, and "replicas": [1, 2, 3], "elr": []; the controller replaces it

    1. broker 3 leads; records are written with acks=all
    2. broker 1 stands still, its port stays open: it has to leave the ISR; then it is killed
    3. broker 3 is killed, and broker 1 comes back empty before the controller can look: broker 2 has to lead, alone in the ISR
    4. broker 1 is killed, broker 2 stands still, and broker 1 comes back empty: nobody may lead instead; broker 2 goes on

Who has left the ISR stays outside: a broker comes back empty here, and when it is complete only a leader could say.

Owns: this night, and what a state that the controller writes may not be.
"""
from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minikafka.lab.exercise import Todo, Unknown, Wrong
from minikafka.lab.labs.lab20.clients import PATIENCE
from minikafka.lab.labs.lab20.parts import StudentsBroker, Whole, listening, whole
from minikafka.lab.labs.lab20.replicas import TOPIC, ThreeBrokers, all_of, asked, send, writer
from minikafka.lab.labs.lab20.stages import names
from minikafka.lab.program import LOOK, Program
from minikafka.lab.values import shown

NAME = "my_controller.py"
NOTICE = 15.0  # seconds in which the controller has to write what follows from a death
HELD = 4.5     # seconds for which nobody may lead instead of a complete broker that is away
AT_ONCE = 4    # nights that run at the same time
LAST = 3       # lines that the controller has printed, shown with a verdict
WIDE = 100     # letters of such a line


class ControllersNight:
    """The brokers, their controller, and what a client was promised."""

    def __init__(self, text: str, brokers: Whole, stack: contextlib.ExitStack) -> None:
        self.three = ThreeBrokers(brokers, stack, leader=3, replicas=[1, 2, 3], elr=[])
        self._first, self._kept = self.three.file.read_text(), self.three.file.with_suffix(".kept")
        os.link(self.three.file, self._kept)
        self._leaders = {0: 3}  # epoch: who led
        started = stack.enter_context(Program(text, str(self.three.file), name=NAME))
        self.controller = StudentsBroker(started, 0, Whole(text, {"my_9_controller.py": 1}))
        asked(self.three.brokers[3], "Metadata for a new topic at broker 3, which leads", "Metadata", names(TOPIC))
        self.producer, self.acknowledged = writer(self.three), set[int]()

    def wrong(self, why: str) -> Wrong:
        printed = [f"your controller printed: {line[:WIDE]}" for line in self.controller.program.printed[-LAST:]]
        return Wrong(why, self.controller.errors or self.three.errors or printed)

    def look(self) -> dict[str, Any]:
        """Return what FILE says. Wrong if no controller may write this, or if it has ended."""
        text = self.three.file.read_text(errors="replace")
        if self._kept.read_text(errors="replace") != self._first:
            raise self.wrong("your controller wrote into FILE while brokers read it, and they can get half of it. Write another "
                             "file beside it, and put that in its place with os.replace")
        try:
            state = json.loads(text)
            leader, epoch, isr = state["leader"], state["epoch"], [*state["isr"]]
            same = all(state[key] == self.three.state[key] for key in ("ports", "replicas", "elr"))
        except KeyError as key:
            raise self.wrong(f"FILE has no {key} any more. Write all that you have read, also what you do not change") from None
        except (ValueError, TypeError):
            raise self.wrong(f"FILE is no state any more; it begins with {shown(text[:60])}") from None
        if fault := self._fault(leader, epoch, isr, same):
            raise self.wrong(fault)
        if (code := self.controller.program.code) is not None:
            why = ("it runs alone in its folder. Write into its file what it needs of your other files" if self._imports_a_file()
                   else "it has to go on as long as there are brokers")
            raise self.wrong(f"your controller ended with exit code {code}; {why}")
        return dict(state)

    def _imports_a_file(self) -> bool:
        return any(line.startswith("ModuleNotFoundError") for line in self.controller.errors)

    def _fault(self, leader: Any, epoch: Any, isr: list[Any], same: bool) -> str | None:
        """Return what is wrong with a state, whatever has happened to the brokers; None if nothing is."""
        if not same:
            return "`leader`, `epoch` and `isr` are yours to change; `ports`, `replicas` and `elr` are not"
        if any(type(number) is not int for number in (leader, epoch, *isr)):
            return f"leader, epoch and the members of the ISR are whole numbers in FILE; yours says {shown((leader, epoch, isr))}"
        if not isr:
            return ("your controller wrote an empty ISR. Its last member has every acknowledged record, also while it is away: "
                    "who else is to lead when it is back?")
        if leader not in (1, 2, 3):
            return (f"your controller wrote leader {leader}, and your brokers know no such leader: while nobody may lead, leave "
                    "FILE as it is")
        if self._leaders.setdefault(epoch, leader) != leader or epoch < max(self._leaders):
            last = max(self._leaders)
            return (f"broker {leader} leads in epoch {epoch}, and broker {self._leaders[last]} has led in epoch {last}: a "
                    "follower does not see that the leader is another one, and cuts nothing. The epoch of a new leader is one "
                    "higher")
        return None

    def until(self, holds: Callable[[dict[str, Any]], bool], why: str, seconds: float = NOTICE) -> dict[str, Any]:
        """Look until this holds. Wrong, and why, if it does not in time."""
        end = time.monotonic() + seconds
        while not holds(state := self.look()):
            if time.monotonic() > end:
                raise self.wrong(f"{why} {seconds:g} s later FILE says leader {state['leader']}, isr {state['isr']}")
            time.sleep(LOOK)
        return state

    def write(self, numbers: Sequence[int], stand: str) -> None:
        """Write these records. Wrong if not all of them, and what waits from before, are acknowledged."""
        send(self.producer, numbers, self.acknowledged)
        if self.producer.flush(PATIENCE + 4):
            state = self.look()
            raise self.wrong(f"{stand}, and {len(self.acknowledged & {*numbers})} of {len(numbers)} records were acknowledged: "
                             f"the cluster stands still. FILE says leader {state['leader']}, isr {state['isr']}")


def judge_controller(text: str, brokers: Whole) -> str:
    """Play the night. Raise Wrong with the first thing that a client could not get, or would lose."""
    with contextlib.ExitStack() as stack:
        night = ControllersNight(text, brokers, stack)
        night.write(range(20), "three brokers are in sync, broker 3 leads")
        _a_follower_stands_still(night)
        _an_empty_one_is_there(night)
        _only_an_empty_one_is_there(night)
        count = len(night.acknowledged)
        if lost := sorted(night.acknowledged - all_of(night.three.brokers[2], night.acknowledged)):
            raise night.wrong(f"broker 2 leads, and a client reads {count - len(lost)} of {count} acknowledged records; "
                              f"order-{lost[0]} is not there. {night.three.ends(2, 1)}")
    return f"two brokers were lost, one twice, and all {count} acknowledged records are there"


def _a_follower_stands_still(night: ControllersNight) -> None:
    one = night.three.brokers[1].program
    one.pause()
    state = night.until(lambda now: 1 not in now["isr"] or now["leader"] != 3,
                        "broker 1 stands still: its port is open, but it answers nothing. Wait two seconds for an answer, no "
                        "longer: while it is in the ISR, each writer waits. Print whom your controller takes for alive, and it "
                        "is shown here.")
    one.kill()
    if state["leader"] != 3:
        raise night.wrong(f"broker 3 led and answered, and your controller let broker {state['leader']} lead: each client has to "
                          "find the new leader, for nothing")
    if 3 not in state["isr"] or 2 not in state["isr"]:
        raise night.wrong(f"broker 1 stood still, and your controller wrote isr {state['isr']}: 2 and 3 answer and are complete, "
                          "and who is left out may not lead after the next death")
    night.write(range(20, 30), "broker 1 is dead, broker 3 leads with 2 in sync")


def _an_empty_one_is_there(night: ControllersNight) -> None:
    night.controller.program.pause()
    night.three.brokers[3].program.kill()
    listening(night.three.start(1))
    night.controller.program.resume()
    state = night.until(lambda now: 3 not in (now["leader"], *now["isr"]) or now["leader"] == 1 or 1 in now["isr"],
                        "broker 3 led and is dead, broker 2 is complete and answers.")
    _not_the_empty_one(night, state)
    night.write(range(30, 40), "broker 3 is dead, broker 2 leads")


def _only_an_empty_one_is_there(night: ControllersNight) -> None:
    complete = night.three.brokers[2].program
    night.controller.program.pause()
    night.three.brokers[1].program.kill()
    complete.pause()
    listening(night.three.start(1))
    night.controller.program.resume()
    send(night.producer, range(40, 50), night.acknowledged)
    end = time.monotonic() + HELD
    while time.monotonic() < end:
        _not_the_empty_one(night, night.look())
        night.producer.poll(LOOK)
    complete.resume()
    night.until(lambda now: now["leader"] == 2, "broker 2 was away and answers again, and it has every record.")
    night.write(range(50, 60), "broker 2 was away and answers again")


def _not_the_empty_one(night: ControllersNight, state: dict[str, Any]) -> None:
    """Raise Wrong if broker 1, which has just come back, leads or is in the ISR."""
    if state["leader"] == 1:
        raise night.wrong(f"broker 1 came back empty, and your controller let it lead: {len(night.acknowledged)} acknowledged "
                          "records are not in its log. Who has all that was acknowledged?")
    if 1 in state["isr"]:
        raise night.wrong("broker 1 came back empty, and your controller took it into the ISR: from now on it may lead, and "
                          f"{len(night.acknowledged)} acknowledged records are not in its log")


def run_controllers(texts: Sequence[str]) -> list[str | Exception]:
    """Play the night with each of these controllers, beside the same brokers. Todo, Unknown or Wrong if there are no brokers."""
    brokers = whole("20.9")

    def play(text: str) -> str | Exception:
        try:
            return judge_controller(text, brokers)
        except (Wrong, Todo, Unknown) as found:
            return found
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*pool.map(play, texts)]
