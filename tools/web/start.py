"""Runs in the page before a notebook's first cell: fills the machine's modules, lets large packages come when the course's own
code imports them, then does what each kernel of the course does."""
import importlib
import sys
from importlib.machinery import PathFinder

import pyodide_js
from pyodide.ffi import can_run_sync, run_sync

LATER = ("plotly", "narwhals", "packaging")  # as in packages.py


class Later:
    """Finds a module by loading its package first; JupyterLite does so only for what a cell itself imports."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in LATER or not can_run_sync():
            return None
        run_sync(pyodide_js.loadPackage(name))
        importlib.invalidate_caches()
        return PathFinder.find_spec(name)


sys.meta_path.append(Later)
__import__("fallbacks").fill()
__import__("runpy").run_module("minikafka.lab.startup")
