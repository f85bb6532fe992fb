"""Makes the course a page that runs by itself in a browser: JupyterLite, Pyodide, the labs, in build/browser. `make browser`.

    tools/browser.py             build/browser, a folder for any host: it needs no server of its own
    tools/browser.py --serve     the same, shown on 127.0.0.1 (PORT=8000)
    tools/browser.py --run NOTEBOOK   runs a notebook's cells in the page, in Chromium, and prints what each put out
    tools/browser.py --lock      makes tools/web/page.lock anew: the versions of requirements.lock, as wheels for Pyodide

What it is made from comes from the registries, once, by hash. The page itself asks no other host for anything.
"""
from __future__ import annotations

import argparse
import http.server
import os
import re
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.web import first, lite, packages, parts

FOLDER = parts.ROOT / "build" / "browser"
LOCK_HEAD = "# What the page is made from. Made by `tools/browser.py --lock` from requirements.lock: do not edit.\n"
OWN = ("jupyterlite-core==0.8.6", "jupyterlite-pyodide-kernel==0.8.6", "micropip==0.11.1")
SHARED = """anywidget asttokens comm cramjam executing ipython ipython-pygments-lexers ipywidgets jedi jupyterlab-widgets
kafka-python matplotlib-inline narwhals packaging parso plotly prompt-toolkit psygnal pure-eval pygments stack-data traitlets
typing-extensions wcwidth""".split()
WITH_EXTENSIONS = ("jupyterlite-pyodide-kernel", "jupyterlab-widgets", "anywidget", "plotly")


def build(folder: Path = FOLDER) -> Path:
    """Write the page's folder anew; return it."""
    wheels, core = parts.wheels(), parts.core()
    lite.begin(folder)
    lite.application(folder, wheels["jupyterlite-core"])
    loads = lite.extensions(folder, [wheels[name] for name in WITH_EXTENSIONS])
    lite.contents(folder)
    first.write(folder)
    lite.settings(folder, loads, packages.lay(folder / "static" / "pyodide", core, wheels))
    return folder


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files as any host does, and says nothing of requests."""

    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map,
                      ".wasm": "application/wasm", ".mjs": "text/javascript"}
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def server(folder: Path, port: int = 0) -> http.server.ThreadingHTTPServer:
    """Return a server of the folder on this machine; its caller runs it."""
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), partial(Quiet, directory=str(folder)))


def lock() -> str:
    """Return page.lock's text, with the versions that the students' environment has."""
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (parts.ROOT / "requirements.lock").read_text(), re.MULTILINE))
    return LOCK_HEAD + parts.lock([*OWN, *(f"{name}=={pins[name]}" for name in SHARED)])


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--run", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--lock", action="store_true")
    options = parser.parse_args(argv)
    try:
        if options.lock:
            parts.LOCK.write_text(lock())
            return 0
        folder = build()
    except parts.PartMissing as error:
        print(error, file=sys.stderr)
        return 1
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    print(f"{folder / 'index.html'}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB")
    if options.run:
        from tools.web.run import run
        return run(options.run, folder)
    if options.serve:
        with server(folder, int(os.environ.get("PORT", "8000"))) as serving:
            print(f"http://127.0.0.1:{serving.server_port}/  (Ctrl-C ends it)")
            serving.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
