"""The laws of the house, proved on the syntax trees: who may import what, and who may touch the world.

A law is broken by one line, so every test here fails with the file and line that broke it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import minikafka

ROOT = Path(minikafka.__file__).parent
WORLD = {"asyncio", "multiprocessing", "os", "random", "secrets", "select", "selectors", "socket", "subprocess",
         "threading", "time", "uuid", "uvloop"}
PURE = {
    "core": WORLD | {"datetime", "io", "pathlib"},
    "log": WORLD | {"datetime", "pathlib"},
    "protocol": WORLD - {"uuid"},  # only the type UUID; making one is banned below
    "history": WORLD,
}
WORLD_CALLS = {
    ("asyncio", "open_connection"), ("asyncio", "sleep"), ("asyncio", "start_server"), ("os", "fsync"), ("os", "open"),
    ("os", "urandom"), ("random", "random"), ("time", "monotonic"), ("time", "sleep"), ("time", "time"),
    ("time", "time_ns"), ("uuid", "uuid1"), ("uuid", "uuid4"),
}
DOORS = {"env.py", "live.py"}  # the only modules of broker/ that may touch the world
ABOVE = {"protocol": 0, "core": 0, "log": 0, "history": 0, "broker": 1, "cluster": 2, "sim": 2, "spark": 3, "lab": 3,
         "demo": 3, "chaos": 3}
UPSTAIRS = {"IPython", "ipywidgets", "pandas", "plotly", "pyspark"}


def modules(part: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / part).rglob("*.py")):
        yield path, ast.parse(path.read_text())


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def calls(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            yield node.lineno, node.func.value.id, node.func.attr
        elif isinstance(node.func, ast.Name):
            yield node.lineno, "", node.func.id


def test_pure_parts_import_nothing_of_the_world() -> None:
    """core/, log/, protocol/ and history/ decide and store; clock, network, disk and chance are handed in (law 2)."""
    broken = [
        f"{path}:{line} imports {name}"
        for part, banned in PURE.items()
        for path, tree in modules(part)
        for line, name in imports(tree)
        if name.split(".")[0] in banned
    ]
    assert broken == []


def test_the_broker_touches_the_world_only_through_env() -> None:
    """A call past Env is a call that the simulator cannot see."""
    broken = [
        f"{path}:{line} calls {owner}.{name}"
        for part in ("broker", "core", "log", "protocol")
        for path, tree in modules(part)
        if path.name not in DOORS
        for line, owner, name in calls(tree)
        if (owner, name) in WORLD_CALLS or (owner, name) == ("", "open")
    ]
    assert broken == []


def test_arrows_run_one_way() -> None:
    """lab, spark -> cluster, sim -> broker -> core, log, protocol; and nothing below lab knows Jupyter or Spark."""
    broken = []
    for part, height in ABOVE.items():
        for path, tree in modules(part):
            for line, name in imports(tree):
                target = name.removeprefix("minikafka.").lstrip(".").split(".")[0]
                known = name.startswith(("minikafka.", ".."))
                if known and ABOVE.get(target, -1) > height or height < 3 and name.split(".")[0] in UPSTAIRS:
                    broken.append(f"{path}:{line} imports {name}")
    assert broken == []


def test_the_walk_sees_what_it_should() -> None:
    """Fails if the walker above goes blind: it must find the world in live.py, where it is allowed."""
    tree = ast.parse((ROOT / "broker" / "live.py").read_text())
    assert "socket" not in {name for _, name in imports(tree)} and "threading" in {name for _, name in imports(tree)}
    assert ("os", "open") in {(owner, name) for _, owner, name in calls(tree)}


def test_every_module_says_what_it_is() -> None:
    """A module opens with a docstring (style: what it is, what it owns)."""
    mute = [str(path) for path in sorted(ROOT.rglob("*.py")) if path.read_text().strip()
            and ast.get_docstring(ast.parse(path.read_text())) is None]
    assert mute == []
