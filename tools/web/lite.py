"""JupyterLite around Pyodide: the application, its extensions, the labs as contents, and the settings.

`jupyter lite build` does the same with a server's packages beside it; what it does for this page is a few files.

Invariants: I-LITE-1 no address in the settings leaves the site.
"""
from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from tools.web.packages import START
from tools.web.parts import PYTHON, ROOT

EXTENSION = re.compile(r"(?:^|/)share/jupyter/labextensions/(?P<path>.+)$")
UNUSED = re.compile(r"\.map$|/fa-[^/]*\.svg$|rspack\.config|(^|/)(repl|consoles|edit|tree|notebooks)/")
SETTINGS = ROOT / "minikafka" / "lab" / "jupyter" / "overrides.json"
OWN_SETTINGS = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}  # cells out of sight are there, too
ENVIRONMENT = {"PYTHONSTARTUP": f"/lib/python{PYTHON}/site-packages/{START}.py",  # before a notebook's first cell
               "MINIKAFKA_PROGRESS": "/drive/progress.json"}  # /drive is what the browser keeps
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
LANGUAGES: dict[str, Any] = {"all": {"en": {"displayName": "English", "nativeName": "English"}}, "en": {}}
BEGINNING = "2026-01-01T00:00:00Z"  # of every file, so that the same sources make the same page


def application(folder: Path, wheel: Path) -> None:
    """Unpack JupyterLite into the folder, without what only its developers need."""
    with zipfile.ZipFile(wheel) as outer:
        name = next(each for each in outer.namelist() if re.search(r"/jupyterlite-app-[^/]*\.tgz$", each))
        archive = outer.read(name)
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for member in opened:
            path = member.name.removeprefix("package/")
            data = opened.extractfile(member)
            if data is not None and not UNUSED.search(path):
                _write(folder / path, data.read())


def extensions(folder: Path, wheels: list[Path]) -> list[dict[str, Any]]:
    """Unpack the extensions of JupyterLab that the wheels bring; return how JupyterLab loads each."""
    found = []
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as opened:
            for name in opened.namelist():
                inside = EXTENSION.search(name)
                if inside is None or UNUSED.search(name) or name.endswith(("/", ".whl")):
                    continue
                data = opened.read(name)
                _write(folder / "extensions" / inside["path"], data)
                if name.endswith("/package.json"):
                    about = json.loads(data)
                    found.append({"name": about["name"], **about["jupyterlab"]["_build"]})
    return found


def contents(folder: Path) -> None:
    """Copy the labs, as git knows them, and write the listings that JupyterLite reads in place of a server's answers."""
    listed = subprocess.run(["git", "ls-files", "-z", "labs"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = sorted(name for name in listed.split("\0") if (ROOT / name).is_file())
    for name in names:
        _write(folder / "files" / name, (ROOT / name).read_bytes())
        if name.endswith(".svg"):  # JupyterLab looks for a text's pictures beside lab/ before it asks for their place
            _write(folder / name, (ROOT / name).read_bytes())
    places = {PurePosixPath(name).parent for name in names}
    folders = places | {up for each in places for up in each.parents}
    for place in folders:
        below = [_entry(each, "directory") for each in sorted(folders) if each.parent == place != each]
        inside = [_entry(PurePosixPath(name)) for name in names if PurePosixPath(name).parent == place]
        listing = _entry(place, "directory") | {"content": below + inside, "format": "json"}
        _write(folder / "api" / "contents" / place / "all.json", json.dumps(listing, indent=1).encode())


def settings(folder: Path, loads: list[dict[str, Any]], packages: list[str]) -> None:
    """Write what JupyterLite reads first: names, extensions, Pyodide's place, the packages of a notebook."""
    path = folder / "jupyter-lite.json"
    config = json.loads(path.read_text())
    overrides = json.loads(SETTINGS.read_text())
    for plugin, own in OWN_SETTINGS.items():
        overrides[plugin] = overrides.get(plugin, {}) | own
    data = config["jupyter-config-data"]
    data |= {"appName": "minikafka", "federated_extensions": loads, "settingsOverrides": overrides, "exposeAppInBrowser": True,
             "contentsAllJsonFile": "all.json", "defaultKernelName": "python"}
    data["litePluginSettings"] = {KERNEL: {
        "pyodideUrl": "./static/pyodide/pyodide.mjs", "disablePyPIFallback": True, "pipliteUrls": [],
        "loadPyodideOptions": {"packages": packages, "lockFileURL": "./static/pyodide/pyodide-lock.json", "env": ENVIRONMENT}}}
    path.write_text(json.dumps(config, indent=1, sort_keys=True))
    for name in ("all", "en"):  # the languages: English
        _write(folder / "api" / "translations" / f"{name}.json", json.dumps({"data": LANGUAGES[name], "message": ""}).encode())
    _write(folder / "build" / "schemas" / "all_federated.json", json.dumps(_schemas(folder / "extensions")).encode())


def _schemas(folder: Path) -> list[dict[str, Any]]:
    """Return the settings of the extensions, as JupyterLab asks for them."""
    found = []
    for package in sorted(folder.rglob("package.json")):
        about = json.loads(package.read_text())
        for path in sorted((package.parent / "schemas").rglob("*.json")):
            found.append({"id": f"{about['name']}:{path.stem}", "raw": "{}", "settings": {}, "version": about["version"],
                          "schema": json.loads(path.read_text())})
    return found


def _entry(path: PurePosixPath, kind: str | None = None) -> dict[str, Any]:
    name = "" if path == PurePosixPath(".") else path.as_posix()
    kind = kind or ("notebook" if path.suffix == ".ipynb" else "file")
    return {"name": path.name, "path": name, "type": kind, "content": None, "format": None, "mimetype": None, "size": None,
            "writable": True, "created": BEGINNING, "last_modified": BEGINNING}


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def begin(folder: Path) -> None:
    """Make the folder empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
