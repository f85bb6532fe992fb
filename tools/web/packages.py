"""Pyodide's folder in the page: its core, the wheels, this project as a wheel, and a lock that names nothing else.

Invariants
  I-PACKAGES-1  pyodide-lock.json names every file with its SHA-256, and no address: the page asks nobody else
  I-PACKAGES-2  same sources, same wheel, byte for byte
"""
from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

from tools.web.aside import mend
from tools.web.parts import CORE, ROOT

DATE = (1980, 1, 1, 0, 0, 0)  # of every file in our wheel
OURS, START = "minikafka", "minikafka_start"
HERE = Path(__file__).parent
OWN = {"fallbacks": "fallbacks", "pandas": "table", START: "start"}  # a module of the page, and its file here
# A file of the wheel, and the class of fallbacks.py whose names it has.
STAND_INS = {"psutil.py": "Psutil", "greenlet.py": "Greenlets", "confluent_kafka/__init__.py": "ConfluentKafka",
             "confluent_kafka/admin.py": "ConfluentAdmin", "crc32c.py": "Crc32c",
             "lz4/frame.py": "Lz4Frame", "zstandard.py": "Zstandard", "re2.py": "Re2"}
LATER = ("plotly", "narwhals", "packaging")  # loaded by the first cell that wants them
UNUSED = re.compile(r"\.data/|django-stubs")
NOT_PYTHON = ("jupyterlite-core", "jupyterlite-pyodide-kernel")  # parts of the site, not of its Python


def lay(folder: Path, core: dict[str, bytes], wheels: dict[str, Path]) -> list[str]:
    """Write Pyodide's folder anew; return the packages that a notebook has from its start."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in CORE:
        (folder / name).write_bytes(mend(core[name]) if name == "pyodide.asm.mjs" else core[name])
    for name, path in wheels.items():
        if name not in NOT_PYTHON:
            (folder / path.name).write_bytes(slim(path))
    for name, data in kernel(wheels["jupyterlite-pyodide-kernel"]).items():
        (folder / name).write_bytes(data)
    (folder / f"{OURS}-0.1.0-py3-none-any.whl").write_bytes(wheel(OURS, "0.1.0", sources()))
    packages = {normal(path.name.split("-")[0]): package(path) for path in sorted(folder.glob("*.whl"))}
    for each in packages.values():
        each["depends"] = [name for name in each["depends"] if name in packages and name not in LATER]
    info = json.loads(core["pyodide-lock.json"])["info"]
    (folder / "pyodide-lock.json").write_text(json.dumps({"info": info, "packages": packages}, indent=1, sort_keys=True))
    return sorted(set(packages) - set(LATER))


def slim(path: Path) -> bytes:
    """Return a wheel without what a page has elsewhere or never uses: extensions of JupyterLab, types of other frameworks."""
    with zipfile.ZipFile(path) as opened:
        return _zip({name: opened.read(name) for name in opened.namelist() if not UNUSED.search(name)})


def kernel(wheel_of_kernel: Path) -> dict[str, bytes]:
    """Return the wheels that JupyterLite's kernel brings with it."""
    with zipfile.ZipFile(wheel_of_kernel) as opened:
        inner = [name for name in opened.namelist() if name.endswith(".whl") and "widgetsnbextension-3" not in name]
        return {name.rsplit("/", 1)[-1]: opened.read(name) for name in inner}


def sources() -> dict[str, bytes]:
    """Return the project as the page has it, by path: what git knows of minikafka/ and datasets/, and the fallbacks."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "minikafka", "datasets"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = {name: (ROOT / name).read_bytes() for name in sorted(listed.split("\0")) if name and (ROOT / name).is_file()}
    found |= {f"{name}.py": (HERE / f"{source}.py").read_bytes() for name, source in OWN.items()} | {"lz4/__init__.py": b""}
    for name, of in STAND_INS.items():
        found[name] = f"import fallbacks\nglobals().update(fallbacks.names(fallbacks.{of}))\n".encode()
    return found


def wheel(name: str, version: str, files: dict[str, bytes]) -> bytes:
    """Return a wheel of these files."""
    about = f"{name}-{version}.dist-info"
    tags = "Wheel-Version: 1.0\nGenerator: minikafka\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = files | {f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
                     f"{about}/WHEEL": tags.encode()}
    rows = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in files.items()]
    files[f"{about}/RECORD"] = "\n".join([*rows, f"{about}/RECORD,,"]).encode()
    return _zip(files)


def package(path: Path) -> dict[str, Any]:
    """Return what Pyodide's lock says of one wheel."""
    name, version = path.name.split("-")[:2]
    with zipfile.ZipFile(path) as opened:
        names = opened.namelist()
        about = opened.read(next(each for each in names if each.endswith(".dist-info/METADATA"))).decode()
    tops = {each.split("/")[0].removesuffix(".py") for each in names if not re.match(r"[^/]*\.(dist-info|data)/", each)}
    needs = re.findall(r"^Requires-Dist: ([\w.-]+)(?![^\n]*(?:extra|sys_platform) ?==)", about, re.MULTILINE)
    return {"depends": sorted({normal(each) for each in needs}), "file_name": path.name, "imports": sorted(tops),
            "install_dir": "site", "name": normal(name), "package_type": "package", "unvendored_tests": False, "version": version,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _zip(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path, DATE), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
