"""requirements.in -> requirements.lock -> environment.yml, and what is installed: one set of versions."""
from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("lock_tool", ROOT / "tools" / "lock.py")
lock = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lock)

LOCK = (ROOT / "requirements.lock").read_text()
PINS = [Requirement(line) for line in lock.pins(LOCK)]


def wanted() -> list[Requirement]:
    return [Requirement(line) for line in lock.pins((ROOT / "requirements.in").read_text())]


def test_every_line_of_the_lock_is_one_exact_version():
    """I-LOCK-2: fails if a range, a hash, an address or an option gets into the lock."""
    assert len(PINS) > 100
    for pin in PINS:
        assert re.fullmatch(r"==[0-9][0-9A-Za-z.+!]*", str(pin.specifier)), pin
        assert pin.url is None
    assert not re.search(r"://|--hash|^-", LOCK, re.MULTILINE)


@pytest.mark.parametrize("python", ["3.11.2", "3.11.9", "3.12.3", "3.13.0", "3.14.0"])
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_each_package_has_exactly_one_version_everywhere(python, platform):
    """I-LOCK-1: fails if markers leave a wanted package out on some Python, or give it twice."""
    environment = {"python_version": python.rsplit(".", 1)[0], "python_full_version": python, "sys_platform": platform,
                   "os_name": "posix", "implementation_name": "cpython", "platform_python_implementation": "CPython",
                   "platform_system": "Linux" if platform == "linux" else "Darwin", "platform_machine": "x86_64"}
    active = [canonicalize_name(p.name) for p in PINS if p.marker is None or p.marker.evaluate(environment)]
    assert len(active) == len(set(active))
    needed = {canonicalize_name(r.name) for r in wanted() if r.marker is None or r.marker.evaluate(environment)}
    assert needed <= set(active)


def test_the_lock_honours_requirements_in():
    """Fails if requirements.in was edited and `make lock` not run."""
    versions = {canonicalize_name(p.name): str(p.specifier).removeprefix("==") for p in PINS}
    for requirement in wanted():
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


def test_conda_users_get_the_same_pins():
    """I-LOCK-3: fails if environment.yml and the lock differ by one line, or name a Python that pyproject.toml refuses or
    that Binder does not understand."""
    text = (ROOT / "environment.yml").read_text()
    assert text == lock.environment(LOCK)
    items = yaml.safe_load(text)["dependencies"]
    assert [Requirement(line) for line in items[-1]["pip"][:-1]] == PINS
    (conda_python,) = (item for item in items if str(item).startswith("python "))
    read = re.fullmatch(r"python\s*=+\s*([\d.]+)", conda_python)  # how Binder's repo2docker reads it
    (allowed,) = re.findall(r'^requires-python = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert read and read[1] in SpecifierSet(allowed)


def test_what_is_installed_is_what_is_locked():
    """Fails if the environment that runs the tests holds another version than the lock's."""
    different = {}
    for pin in PINS:
        if pin.marker is None or pin.marker.evaluate():
            installed = importlib.metadata.version(pin.name)
            if not pin.specifier.contains(installed, prereleases=True):
                different[pin.name] = installed
    assert not different


def test_the_project_installed_is_this_one():
    """Fails if another distribution of the same name stands in front of ours (the name is not ours alone)."""
    import minikafka
    assert Path(minikafka.__file__).is_relative_to(ROOT)


def imported() -> set[str]:
    """The names of all packages from outside that the project's Python imports."""
    names: set[str] = set()
    in_a_page = {"js", "pyodide", "pyodide_js", "compression"}  # of Pyodide, and of its Python 3.14 (tools/web)
    for part in ("minikafka", "tools", "tests"):
        for path in (ROOT / part).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    names |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names.add((node.module or "").partition(".")[0])
    return names - set(sys.stdlib_module_names) - in_a_page - {"minikafka", "tests", "tools"}


def test_every_import_is_wanted_by_name():
    """Fails if the project imports a package that a fresh environment has by luck or not at all."""
    owners = importlib.metadata.packages_distributions()
    declared = {canonicalize_name(r.name) for r in wanted()}
    homeless = {name for name in imported() if not declared & {canonicalize_name(o) for o in owners.get(name, [])}}
    assert homeless == set()
