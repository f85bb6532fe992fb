"""What the page is made from: wheels from the package index and Pyodide's core from npm's registry, each fetched once.

Owns: page.lock and the folder .cache/browser/parts.
Invariants
  I-PARTS-1  a file without the SHA of page.lock (npm: of INTEGRITY) is never used
  I-PARTS-2  what is there is not asked for again: with all parts there, no request leaves the machine
"""
from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

from tools.install import PIP, reach

ROOT = Path(__file__).resolve().parents[2]
LOCK = Path(__file__).with_name("page.lock")
FOLDER = ROOT / ".cache" / "browser" / "parts"
PYTHON, ABI = "3.14", "pyemscripten_2026_0_wasm32"  # of the Pyodide below; jupyterlite-pyodide-kernel says which it wants
PYODIDE = "314.0.6"
INTEGRITY = "BKDTJyIqFxC4BExLqeRS3f5xvXZIjOt8C3zGLN/Cc7tFxSwvKVhVkchQQ2AGLOtR4YrVOIFxbV8poyDOOmWwxQ=="  # SHA-512
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
REGISTRY = "https://registry.npmjs.org/"  # npm's own default
LINE = re.compile(r"^([\w.-]+)==(\S+)((?: --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


class PartMissing(Exception):
    """A part is not there and could not be fetched."""


def wheels() -> dict[str, Path]:
    """Return the file of each wheel of page.lock, by its package's name; fetch what is missing."""
    if len(found := _found()) < len(LINE.findall(LOCK.read_text())):
        FOLDER.mkdir(parents=True, exist_ok=True)
        download("--require-hashes", "-r", str(LOCK), "-d", str(FOLDER))
        found = _found()
    return found


def download(*arguments: str) -> None:
    """Run `pip download` for Pyodide's Python, without what the packages depend on."""
    for_pyodide = ["--no-deps", "--only-binary", ":all:", "--implementation", "cp", "--python-version", PYTHON,
                   "--abi", f"cp{PYTHON.replace('.', '')}", "--platform", ABI]
    done = subprocess.run([*PIP, "download", "--quiet", *for_pyodide, *arguments], env=reach(), stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise PartMissing(f"{done.stderr.strip()}\nThe page's parts come from the package index, once: this needs a network.")


def core() -> dict[str, bytes]:
    """Return the files of Pyodide's core by name; npm's archive is fetched if it is missing."""
    archive = FOLDER / f"pyodide-{PYODIDE}.tgz"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        address = f"{registry(os.environ, Path.home() / '.npmrc')}pyodide/-/{archive.name}"
        try:
            with urllib.request.urlopen(address, timeout=120) as answer:
                data = answer.read()
        except OSError as error:
            raise PartMissing(f"Pyodide's core, {address}: {error}. This needs a network, once.") from None
        if base64.b64encode(hashlib.sha512(data).digest()).decode() != INTEGRITY:
            raise PartMissing(f"{address} is not the archive that was expected: its SHA-512 differs.")
        archive.write_bytes(data)
    with tarfile.open(archive) as opened:
        members = {name: opened.extractfile(f"package/{name}") for name in CORE}
        return {name: member.read() for name, member in members.items() if member is not None}


def registry(environment: os._Environ[str] | dict[str, str], settings: Path) -> str:
    """Return the address of npm's registry: as a variable or ~/.npmrc names it, as npm does it, or npm's own."""
    named = environment.get("NPM_CONFIG_REGISTRY") or environment.get("npm_config_registry")
    if not named and settings.is_file():
        lines = re.findall(r"^\s*registry\s*=\s*(\S+)", settings.read_text(), re.MULTILINE)
        named = lines[-1] if lines else None
    return (named or REGISTRY).rstrip("/") + "/"


def _found() -> dict[str, Path]:
    """Return the wheels that are there and have the right hash."""
    wanted = {digest: name for name, _, hashes in LINE.findall(LOCK.read_text()) for digest in re.findall("[0-9a-f]{64}", hashes)}
    found = {}
    for path in sorted(FOLDER.glob("*.whl")):
        name = wanted.get(hashlib.sha256(path.read_bytes()).hexdigest())
        if name is not None:
            found[name] = path
    return found


def lock(names: list[str]) -> str:
    """Return the text of page.lock for these packages, `name` or `name==version`, as the index has them now."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = []
    for name in names:
        before = set(FOLDER.iterdir())
        download(name, "-d", str(FOLDER))
        plain = re.split("[=<>]", name)[0]
        path = next(p for p in {*(set(FOLDER.iterdir()) - before), *FOLDER.iterdir()}
                    if p.name.lower().startswith(plain.replace("-", "_").lower() + "-") and _fits(p, name))
        lines.append(f"{plain}=={path.name.split('-')[1]} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}")
    return "\n".join(lines) + "\n"


def _fits(path: Path, name: str) -> bool:
    return "==" not in name or path.name.split("-")[1] == name.split("==")[1]


if __name__ == "__main__":
    sys.exit("run tools/browser.py")
