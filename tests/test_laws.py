"""The laws of the house, proved on the syntax trees: which module may import which, and which may touch the world.

A law is broken by one line, so every test here fails with the file and line that broke it. The path of a module says what
it is: in `broker/ROOM/` the files on top are pure (they decide), those in `shell/` carry out, those in `api/` serve requests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import minikafka
from minikafka.broker.config.group_and_metrics import GROUP_CONFIGS, METRICS_CONFIGS
from minikafka.broker.config.table import BROKER_CONFIGS, TOPIC_CONFIGS

ROOT = Path(minikafka.__file__).parent
WORLD = {"asyncio", "multiprocessing", "os", "random", "secrets", "select", "selectors", "socket", "subprocess",
         "threading", "time", "uuid", "uvloop"}
PURE = {  # the parts that have pure modules, and what those may not import
    "broker": WORLD | {"datetime", "io", "pathlib"},
    "log": WORLD | {"datetime", "pathlib"},
    "protocol": WORLD - {"uuid"},  # the type UUID; making one is banned below
    "proof/history": WORLD,
}
WORLD_CALLS = {
    ("asyncio", "open_connection"), ("asyncio", "sleep"), ("asyncio", "start_server"), ("os", "fsync"), ("os", "open"),
    ("os", "urandom"), ("random", "random"), ("time", "monotonic"), ("time", "sleep"), ("time", "time"),
    ("time", "time_ns"), ("uuid", "uuid1"), ("uuid", "uuid4"),
}
_OF_SERVER = ("env", "live", "neighbours", "certificates", "signing_keys")
DOORS = {Path("broker/fork_server.py"), *(Path(f"broker/server/{name}.py") for name in _OF_SERVER)}  # to the world
UPSTAIRS = {"IPython", "ipywidgets", "pandas", "plotly", "pyspark"}

# Three storeys, and the floors of the first. A module imports from its own floor and from those below.
GROUND, SERVER, SHELL, API, BROKER, CLUSTER, PROOF, LAB = range(8)
FLOORS = {"protocol": GROUND, "log": GROUND, "machine": GROUND, "client": SERVER, "cluster": CLUSTER, "sim": CLUSTER,  # the Kafka
          "proof": PROOF,  # what judges it
          "lab": LAB}  # what teaches it

# Which pure room may know which other. An arrow that is not in this table is a concept that a reader must learn first.
ROOMS: dict[str, tuple[str, ...]] = {
    "raft": (), "replication": (), "transactions": (), "metadata": (), "coordinator": (), "storage": (),
    "groups": ("metadata",), "config": ("metadata",), "quotas": ("metadata",), "compat": ("metadata",),
    "authorizer": ("metadata",),
    "controller": ("metadata", "config"),
}
VERBS = """
Abort Accept Add Alter Announce Answer Append Apply Ask Assert Attack Authenticate Await Become Begin Book Boot Break Bring
Call Cancel Carry Change Charge Check Choose Claim Clean Clear Close Collect Commit Compact Compare Compile Complete
Compress Compute Connect Continue Copy Count Crash Create Cut Damage Deal Decide Decode Delay Delete Deliver Describe Die
Discard Display Do Draw Drive Drop Empty Encode End Excuse Execute Fail Feed Fetch Fill Find Flip Flush Follow Forget
Format Free Freeze Get Give Go Grant Hand Handle Have Heal Hear Hold Host Import Invert Join Judge Keep Kill Lay Leave
Let List Load Lock Look Lose Lower Make Measure Mirror Move Name Note Notice Number Open Pack Pair Parse Pass Pause Place Play
Poll Prepare Print Produce Propose Prove Publish Pull Push Put Queue Raise Read Record Recover Refuse Register Remove
Rename Renew Replace Replay Replicate Report Reset Resolve Retrieve Retry Return Round Run Save Say Send Serve Set Show
Shut Sleep Snapshot Start Step Stop Store Strike Switch Sync Take Tell Trace Truncate Trust Undo Unpack Use Validate Vote
Wait Write Yield
"""  # what the docstring of a function may begin with; another verb is welcome, a noun or a question is not
LARGEST_CIRCLE = 2  # files that import each other, imports for types included


def floor(module: Path) -> int:
    """The floor of a module, by its path inside minikafka/; -1 for `__main__`, which knows all."""
    parts = module.with_suffix("").parts
    if parts == ("__init__",):
        return CLUSTER  # `from minikafka import Cluster`
    if parts[0] != "broker":
        return FLOORS.get(parts[0], -1)
    if len(parts) > 2 and parts[1] == "server":
        return SERVER
    if len(parts) > 2 and parts[1] in ROOMS:
        return API if "api" in parts else SHELL if "shell" in parts else GROUND
    return BROKER  # broker.py, the list of handlers, the command


def is_pure(module: Path) -> bool:
    """True for a module that decides or stores without a world: a key of PURE, or in broker/ a room above shell/ and api/."""
    return part_of(module) in PURE and (module.parts[0] != "broker" or floor(module) == GROUND)


def part_of(module: Path) -> str:
    """The key of PURE for a module: its folder in minikafka/, or the history of clients and its checker."""
    return "proof/history" if module.parts[:2] == ("proof", "history") or module == Path("client/history.py") else module.parts[0]


@cache
def trees() -> dict[Path, ast.Module]:
    """Every module of minikafka/ by its path inside."""
    return {path.relative_to(ROOT): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def imports(module: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of every import, also of those that only type checkers follow.

    `from a import b` gives a.b, which may be a module or a name in one.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            here = ("minikafka", *module.parts[:-1])
            stem = [*here[:len(here) - node.level + 1]] if node.level else []
            stem += [node.module] if node.module else []
            yield from ((node.lineno, ".".join([*stem, alias.name])) for alias in node.names)


def ours(name: str) -> Path | None:
    """The module of ours that a dotted name means: the module itself, or the one that holds the name."""
    head, *rest = name.split(".")
    for parts in (rest, rest[:-1]) if head == "minikafka" else ():
        for path in (Path(*parts).with_suffix(".py") if parts else None, Path(*parts) / "__init__.py"):
            if path in trees():
                return path
    return None


@cache
def arrows(module: Path) -> tuple[tuple[int, Path], ...]:
    """(line, module) for each module of ours that this one imports."""
    found = ((line, ours(name)) for line, name in imports(module, trees()[module]))
    return tuple((line, path) for line, path in found if path is not None and path != module)


def calls(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            yield node.lineno, node.func.value.id, node.func.attr
        elif isinstance(node.func, ast.Name):
            yield node.lineno, "", node.func.id


def test_pure_modules_import_nothing_of_the_world() -> None:
    """Pure modules decide and store; clock, network, disk and chance are handed in (law 2)."""
    broken = [
        f"{module}:{line} imports {name}"
        for module, tree in trees().items() if is_pure(module)
        for line, name in imports(module, tree)
        if name.split(".")[0] in PURE[part_of(module)]
    ]
    assert broken == []


def test_pure_modules_stay_pure_when_they_are_imported() -> None:
    """A pure module imports pure modules only, and none but protocol/ reaches kafka-python (whose import opens a client)."""
    broken = [f"{module}:{line} is pure and imports {path}" for module in trees() if is_pure(module)
              for line, path in arrows(module) if not is_pure(path)]
    broken += [f"{module}:{line} is pure and imports {name}" for module, tree in trees().items()
               if is_pure(module) and module.parts[0] != "protocol"
               for line, name in imports(module, tree) if name.split(".")[0] == "kafka"]
    assert broken == []


def test_pure_rooms_know_only_the_rooms_in_the_table() -> None:
    """ROOMS is the order in which the concepts can be learned: no arrow points out of it."""
    broken = []
    for module in trees():
        if is_pure(module) and module.parts[0] == "broker":
            known = {module.parts[1], *ROOMS[module.parts[1]]}
            broken += [f"{module}:{line} imports {path}" for line, path in arrows(module)
                       if path.parts[0] == "broker" and path.parts[1] not in known]
    assert broken == []


def test_the_broker_touches_the_world_only_through_env() -> None:
    """Fails for a call past Env, which the simulator cannot see, and for an import that only such calls need."""
    broken = [
        f"{module}:{line} calls {owner}.{name}"
        for module, tree in trees().items()
        if module.parts[0] in ("broker", "log", "protocol") and module not in DOORS
        for line, owner, name in calls(tree)
        if (owner, name) in WORLD_CALLS or (owner, name) == ("", "open")
    ]
    broken += [f"{module}:{line} imports {name}" for module, tree in trees().items()
               if module.parts[0] in ("broker", "log", "protocol") and module not in DOORS
               for line, name in imports(module, tree) if name.split(".")[0] in WORLD - {"asyncio", "uvloop", "uuid"}]
    assert broken == []


def test_there_are_three_storeys() -> None:
    """Fails if a file or folder of minikafka/ belongs to no storey: the Kafka, its proof, the lab that teaches it; or if a room
    of the broker is not in ROOMS, so that no law knows which of its files are pure."""
    assert {module.parts[0] for module in trees() if len(module.parts) > 1} == {*FLOORS, "broker"}
    assert {module.name for module in trees() if len(module.parts) == 1} == {"__init__.py", "__main__.py"}
    assert {module.parts[1] for module in trees() if module.parts[0] == "broker" and len(module.parts) > 2} == {*ROOMS, "server"}


def test_arrows_run_one_way() -> None:
    """No module imports from a floor above its own; a client needs no more of the broker than its Env."""
    broken = [f"{module}:{line} imports {path}" for module in trees() if floor(module) >= GROUND
              for line, path in arrows(module) if floor(path) > floor(module)]
    broken += [f"{module}:{line} imports {path}" for module in trees() if module.parts[0] in ("log", "protocol", "machine")
               for line, path in arrows(module) if path.parts[0] == "broker"]  # its pure rooms have the same floor
    broken += [f"{module}:{line} imports {path}" for module in trees() if module.parts[0] == "client"
               for line, path in arrows(module) if path.parts[0] == "broker" and path != Path("broker/server/env.py")]
    broken += [f"{module}:{line} imports {name}" for module, tree in trees().items()
               if GROUND <= floor(module) < PROOF and module.parts[0] != "machine"  # which asks pyspark for its version
               for line, name in imports(module, tree) if name.split(".")[0] in UPSTAIRS]
    assert broken == []


def test_only_the_lab_and_the_proof_know_of_programs_in_a_world() -> None:
    """Fails if the Kafka (protocol, log, broker, client, cluster, or the simulator that carries them) needs sim/guest/."""
    broken = [f"{module}:{line} imports {path}" for module in trees()
              if module.parts[:2] != ("sim", "guest") and floor(module) < PROOF
              for line, path in arrows(module) if path.parts[:2] == ("sim", "guest")]
    assert broken == [] and Path("sim/guest/guest.py") in trees()


@cache
def for_types(module: Path) -> set[int]:
    """Return the lines of a module that only type checkers follow."""
    conditions = (node for node in ast.walk(trees()[module]) if isinstance(node, ast.If))
    blocks = (node for node in conditions if ast.unparse(node.test) == "TYPE_CHECKING")
    return {line for node in blocks for each in node.body for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)}


def circles(types: bool = True) -> list[list[Path]]:
    """Groups of modules that reach each other by imports (strongly connected components, Tarjan's algorithm); without `types`
    those that only type checkers follow do not count."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(module: Path) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for path in [path for line, path in arrows(module) if types or line not in for_types(module)]:
            if path not in index:
                visit(path)
            if path in stack:
                low[module] = min(low[module], low[path])
        if low[module] == index[module]:
            at = stack.index(module)
            found.append(stack[at:])
            del stack[at:]

    for module in trees():
        if module not in index:
            visit(module)
    return [sorted(circle) for circle in found if len(circle) > 1]


def test_no_circle_of_imports_is_large() -> None:
    """Two files may know each other; three that do cannot be read one after the other."""
    assert [list(map(str, circle)) for circle in circles() if len(circle) > LARGEST_CIRCLE] == []


def test_a_circle_of_imports_is_one_of_types() -> None:
    """Fails for two files of which each needs the other while it runs. Two may: what `Cluster.connect` returns is a cluster, and
    `progress().hand_in` writes what the classroom reads."""
    left = {tuple(map(str, circle)) for circle in circles(types=False)}
    assert left == {("cluster/cluster.py", "cluster/remote.py"), ("lab/classroom.py", "lab/report.py")}


def test_the_walk_sees_what_it_should() -> None:
    """Fails if the walkers above go blind: each must find what is known to be there."""
    live = trees()[Path("broker/server/live.py")]
    assert "threading" in {name for _, name in imports(Path("broker/server/live.py"), live)}
    assert ("os", "open") in {(owner, name) for _, owner, name in calls(live)}
    assert Path("broker/replication/isr.py") in {path for _, path in arrows(Path("broker/replication/replica.py"))}
    assert sum(map(is_pure, trees())) > 100 and is_pure(Path("broker/raft/raft.py"))
    assert not is_pure(Path("broker/raft/api.py")) and not is_pure(Path("broker/raft/shell/quorum.py"))


def test_a_class_name_means_one_thing() -> None:
    """Two classes of one name are two concepts (rename one, with Kafka's noun) or one that is written twice (merge them)."""
    places: dict[str, list[str]] = {}
    for module, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{module}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_any_in_a_signature_of_the_broker_has_a_reason() -> None:
    """A request, an answer or a record has a class; what may truly be anything has a comment `# Any: why` in the signature."""
    silent = []
    for module, tree in trees().items():
        lines = (ROOT / module).read_text().split("\n") if module.parts[0] == "broker" else []
        for node in ast.walk(tree) if lines else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                told = [node.returns, *(each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg))]
                named = any(isinstance(part, ast.Name) and part.id == "Any" for one in told if one for part in ast.walk(one))
                if named and "# Any: " not in "\n".join(lines[node.lineno - 1:node.body[0].lineno]):
                    silent.append(f"{module}:{node.lineno} {node.name}")
    assert silent == []


def test_every_module_has_a_page() -> None:
    """A module opens with a docstring (style: what it is, what it owns)."""
    mute = [str(module) for module, tree in trees().items() if tree.body and ast.get_docstring(tree) is None]
    assert mute == []


def functions(tree: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions and methods of a module; not those inside of functions."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node)


def test_a_function_fits_on_a_screen() -> None:
    """Fails for a function of more than 42 lines. One may be longer: `_walk` has no calls, because it runs for each record."""
    long = {f"{module.name} {function.name}" for module, tree in trees().items() for function in ast.walk(tree)
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.end_lineno is not None
            and function.end_lineno - function.lineno >= 42}
    assert long == {"record_validation.py _walk"}


def begins_well(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the docstring, if there is one, says first what the function does or returns.

    It may also be a text that is shown: the state that a wait names ("every broker serves"), or the prose of a story.
    """
    text = ast.get_docstring(function) or "Return"
    shown = text[0].islower() and ast.unparse(function.returns or function) == "bool" or any(
        isinstance(each, ast.Call) and ast.unparse(each.func) == "script" for each in function.decorator_list)
    return shown or function.name == "__init__" or re.split(r"\W", text)[0] in VERBS.split()


def test_docstrings_begin_with_what_is_done() -> None:
    """Fails for a function that begins with anything but a verb of the list, and for a class that begins with a question."""
    assert [f"{module}:{function.lineno} {function.name}" for module, tree in trees().items()
            for function in functions(tree) if not begins_well(function)] == []
    questions = {"What", "How", "Whether", "Where", "Which", "Who", "That", "Of", "Made", ""}
    assert [f"{module}:{node.lineno} {node.name}" for module, tree in trees().items() for node in tree.body
            if isinstance(node, ast.ClassDef) and re.split(r"\W", ast.get_docstring(node) or "A")[0] in questions] == []
    assert not begins_well(ast.parse('def f() -> int:\n    "The answer."').body[0])  # type: ignore[arg-type]


# --- settings, and upkeep by time -------------------------------------------------------------------------------------

TELL = {Path("broker/config") / name for name in ("table.py", "unused.py", "alter.py")}  # of settings, and read none


class Readers(NamedTuple):
    """What the code of a broker reads settings by."""

    texts: frozenset[str]  # arguments and keys
    attributes: frozenset[str]
    of_file: frozenset[str]  # of those, the keys: config["..."]
    made: tuple[re.Pattern[str], ...]  # names put together, with the words of their file in the gaps

    def know(self, name: str) -> bool:
        return name in self.texts or any(one.fullmatch(name) for one in self.made)


@cache
def readers() -> Readers:
    texts: set[str] = set()
    attributes: set[str] = set()
    of_file: set[str] = set()
    made: list[re.Pattern[str]] = []
    for module, tree in trees().items():
        if module.parts[0] not in ("broker", "log") or module in TELL:
            continue
        nodes = [node for top in tree.body if getattr(top, "name", "") != "validate_broker_configs" for node in ast.walk(top)]
        words = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        gap = "|".join(re.escape(word) for word in words if re.fullmatch("[a-z.]+", word))
        attributes |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
        given = [one for node in nodes if isinstance(node, ast.Call) for one in node.args]
        keys = [node.slice for node in nodes if isinstance(node, ast.Subscript)]
        of_file |= {str(key.value) for key in keys if isinstance(key, ast.Constant)}
        given += keys
        given += [node.elt for node in nodes if isinstance(node, ast.GeneratorExp)]
        texts |= {str(node.value) for node in given if isinstance(node, ast.Constant)}
        made += [re.compile(pattern(node, f"(?:{gap})")) for node in given if isinstance(node, ast.JoinedStr | ast.BinOp)
                 and re.search(r"[a-z]\\[.]|\\[.][a-z]", pattern(node, ""))]
    return Readers(frozenset(texts), frozenset(attributes), frozenset(of_file), tuple(made))


def pattern(text: ast.expr, gap: str) -> str:
    """The regular expression of a text that is put together; `gap` is that of what is put in."""
    if isinstance(text, ast.JoinedStr):
        return "".join(pattern(part, gap) for part in text.values)
    if isinstance(text, ast.BinOp) and isinstance(text.op, ast.Add):
        return pattern(text.left, gap) + pattern(text.right, gap)
    return re.escape(text.value) if isinstance(text, ast.Constant) and isinstance(text.value, str) else gap


def test_an_invariant_has_an_id_only_where_something_names_it() -> None:
    """Fails if a page numbers an invariant, and no assert or other text of the program, no test, weakened rule or rule of
    RULES.md
    names the number. Other pages, docstrings and comments do not count: without an id the sentence is enough."""
    named = re.compile(r"\bI-[A-Z][A-Z0-9]*-\d+\b")
    tests = [path.read_text() for path in (ROOT.parent / "tests").rglob("*.py")]
    tables = [path.read_text() for path in (ROOT / "RULES.md", ROOT / "proof" / "weakened" / "rules.tsv")]
    pages, named_by = {}, {*named.findall("\n".join([*tests, *tables]))}
    for path, tree in trees().items():
        pages[path] = ast.get_docstring(tree) or ""
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        named_by.update(found for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
                        and id(node) not in docstrings for found in named.findall(node.value))
    assert [(path.name, id) for path, page in pages.items() for id in named.findall(page) if id not in named_by] == []


def test_no_setting_without_a_reader() -> None:
    """Fails if a setting is taken and described, and neither read by code nor marked as what it is (I-CFG-2); or is both."""
    code = readers()
    of_topics = {name for name in TOPIC_CONFIGS if code.know(name) or name.replace(".", "_") in code.attributes | code.texts}
    defaults = {synonym for name in of_topics for synonym, _ in TOPIC_CONFIGS[name].synonyms}
    read = of_topics | defaults | {name for name in {**BROKER_CONFIGS, **GROUP_CONFIGS, **METRICS_CONFIGS} if code.know(name)}
    rows = [*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()]
    assert [row.name for row in rows if row.effect != "read" and row.name in code.texts] == [], "it is read"
    rows += [*GROUP_CONFIGS.values(), *METRICS_CONFIGS.values()]
    assert [row.name for row in rows if row.effect == "read" and row.name not in read] == [], "nobody reads it"


def test_what_is_altered_while_a_broker_runs_is_read_as_it_is_now() -> None:
    """Fails if a setting that may be altered is read from the file of the start: Node.setting() knows it, config[] does not."""
    defaults = {synonym for row in TOPIC_CONFIGS.values() for synonym, _ in row.synonyms}  # each topic's, as of the image
    of_file = readers().of_file
    rows = [row for row in BROKER_CONFIGS.values() if row.dynamic and row.effect == "read" and row.name not in defaults]
    assert len(rows) > 5 and [row.name for row in rows if row.name in of_file] == []


Call = tuple[str, int]  # the name of a method, and with how many arguments it is called
STARTS = {"__init__", "open", "load", "replay", "restore", "reload"}  # what happens once, when a process or a leader begins


def methods_called(node: ast.AST) -> set[Call]:
    return {(one.func.attr, len(one.args) + len(one.keywords)) for one in ast.walk(node)
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)}


def driven_by_time() -> dict[str, set[Call]]:
    """By its place, each method of a pure module to which the time is told: the calls that fit it."""
    found: dict[str, set[Call]] = {}
    for module, tree in trees().items():
        for function in functions(tree) if is_pure(module) else ():
            given = function.args
            names = [one.arg for one in [*given.posonlyargs, *given.args, *given.kwonlyargs] if one.arg not in ("self", "cls")]
            least = len(names) - len(given.defaults) - sum(one is not None for one in given.kw_defaults)
            if {"now", "now_ms", "context"} & set(names) and function.name not in STARTS:
                fitting = {(function.name, number) for number in range(least, len(names) + 1)}
                found[f"{module}: {function.name}"] = fitting
    return found


def called_live() -> set[Call]:
    """What the shells of a broker call, and what is called in turn by that, but for what only a start calls."""
    live: set[Call] = set()
    inner: dict[str, set[Call]] = {}
    for module, tree in trees().items():
        if module.parts[0] == "broker" and not is_pure(module):
            live |= methods_called(tree)
        elif is_pure(module):
            for function in functions(tree):
                inner.setdefault(function.name, set()).update(methods_called(function))
    todo = [name for name, _ in live]
    while todo:
        name = todo.pop()
        calls = inner.pop(name, set()) if name not in STARTS else set()
        live |= calls
        todo += [called for called, _ in calls]
    return live


def test_a_small_world_does_nothing_that_the_shell_does_not_do() -> None:
    """Fails if a world of the simulator lets time act on a part of the broker by a method that no running broker calls: then
    the world keeps the part in order, and hides that nobody else does."""
    live = called_live()
    played = {call for module, tree in trees().items() if module.parts[:2] == ("proof", "small_worlds")
              for call in methods_called(tree)}
    timed = {place: calls for place, calls in driven_by_time().items() if calls & played}
    assert len(timed) > 20 and "log/log.py: expire_producers" in timed, "the walk is empty"
    assert [place for place, calls in timed.items() if not calls & live] == []
