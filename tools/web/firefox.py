"""A Firefox of its own and the page that it shows, over WebDriver BiDi: Firefox serves that itself, so no driver is needed.

Has the few calls of Playwright's page that a `Tab` needs (run.py): Playwright itself drives only a Firefox that it has changed.
Needs a Firefox (Debian: apt install firefox-esr). Source: WebDriver BiDi, W3C.
"""
from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import psutil
import websocket

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
CALL = "async asked => JSON.stringify(await ({function})(JSON.parse(asked)) ?? null)"
UNTIL = """async asked => {{
    while (!await ({function})(asked))
        await new Promise(goOn => setTimeout(goOn, 100));
}}"""


class Page:
    """One tab. Its calls return when Firefox has answered, and raise RuntimeError with what Firefox or the script said."""

    def __init__(self, address: str, patience: float) -> None:
        """Connect to a Firefox that listens there; an answer may take `patience` seconds."""
        self._socket = websocket.create_connection(f"{address}/session", suppress_origin=True, timeout=patience)
        self._numbers = count(1)
        self._watching: dict[str, list[Callable[[Any], None]]] = defaultdict(list)
        self._ask("session.new", capabilities={})
        self._tab = self._ask("browsingContext.create", type="window")["context"]  # the first window never gets the focus
        self._ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])

    def on(self, event: str, act: Callable[[Any], None]) -> None:
        """Call `act` for each "request", each "console" message and each "pageerror", while a call of this page waits."""
        self._watching[event].append(act)

    def goto(self, address: str) -> None:
        """Open an address; returns when it is loaded."""
        self._ask("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, function: str, asked: Any = None) -> Any:
        """Call a function of JavaScript in the page, with a value of JSON; return what it returns, or its promise yields."""
        done = self._ask("script.callFunction", functionDeclaration=CALL.format(function=function), awaitPromise=True,
                         target={"context": self._tab}, arguments=[{"type": "string", "value": json.dumps(asked)}])
        if done["type"] == "exception":
            raise RuntimeError(done["exceptionDetails"]["text"])
        return json.loads(done["result"]["value"])

    def wait_for_function(self, function: str, *, arg: Any = None) -> None:
        """Return when a function of JavaScript returns what is true."""
        self.evaluate(UNTIL.format(function=function), arg)

    def close(self) -> None:
        """End Firefox."""
        self._ask("browser.close")
        self._socket.close()

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (came := json.loads(self._socket.recv())).get("id") != number:
            self._happened(came["method"], came["params"])
        if came["type"] == "error":
            raise RuntimeError(f"{method}: {came['message']}")
        return came["result"]

    def _happened(self, method: str, params: dict[str, Any]) -> None:
        if method == "network.beforeRequestSent":
            event, said = "request", SimpleNamespace(url=params["request"]["url"])
        else:
            frames = (params.get("stackTrace") or {}).get("callFrames") or [{"url": ""}]
            event = "console" if params["type"] == "console" else "pageerror"
            said = SimpleNamespace(type=params["level"], text=params["text"], location=frames[0])
        for act in self._watching[event]:
            act(said)


@contextmanager
def opened(patience: float = 600, preferences: Mapping[str, bool] = {}) -> Iterator[tuple[Page, Callable[[], float]]]:
    """Start a Firefox without a window, with an empty profile and these entries of about:config; it ends after that."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items()]
        Path(profile, "user.js").write_text("\n".join(lines))
        with subprocess.Popen([str(FIREFOX), "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
                              stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            said = next(filter(None, map(ADDRESS.search, process.stderr)))
            threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop Firefox
            try:
                page = Page(said[1], patience)
                yield page, lambda: max(sum(each.cpu_times()[:2]) for each in psutil.Process(process.pid).children(True))
                page.close()
            except BaseException:
                process.kill()
                raise
