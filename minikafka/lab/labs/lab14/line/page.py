"""One page about a pipeline and the night that it went through: verdict, choices, counters, and the night as a film.

    night = NightPage(pipeline, run, alarms)           # the last expression of a cell
    night.save("Ada")                                  # night-Ada.html plays by itself; with a Chromium also night-Ada.pdf

Owns: the words of the page. Invariants: a page that is saved loads nothing, and needs neither a kernel nor a server.
"""
from __future__ import annotations

import html
import inspect
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

from minikafka.lab.labs.lab14.alarms import Alarms
from minikafka.lab.labs.lab14.line.player import LinePlayer
from minikafka.lab.labs.lab14.line.show import LIMIT
from minikafka.lab.labs.lab14.notary import Run
from minikafka.lab.labs.lab14.pipeline import Pipeline

HERE = Path(__file__).parent
SETTINGS = ("acks", "idempotence", "min_insync", "checkpoint", "starting", "key")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120                                  # seconds in which a browser must have printed


class NightPage:
    """The page of one run."""

    def __init__(self, pipeline: Pipeline, run: Run, alarms: Alarms | None = None, limit: float = LIMIT) -> None:
        self.pipeline, self.player = pipeline, LinePlayer(run, limit, alarms)

    def choices(self) -> dict[str, str]:
        """Return what was chosen."""
        return {name: str(getattr(self.pipeline, name)) for name in SETTINGS}

    def faults(self) -> list[str]:
        """Return what happened in the night, in its order."""
        return [f"second {since:.1f} to {until:.1f}: {text}" for since, until, text in self.player.picture.faulty()]

    def html(self, name: str = "") -> str:
        """Return the page as HTML without its head."""
        passed = self.player.verdict == "PASS"
        whose = f"{name}'s pipeline" if name else "your pipeline"
        title = f"The night that {whose} {'survived' if passed else 'did not survive'}"
        chosen = "".join(f"<tr><th>{key}</th><td>{html.escape(value)}</td></tr>" for key, value in self.choices().items())
        counts = "".join(f"<tr><th>{key}</th><td>{value:,}</td></tr>" for key, value in self.player.report.counts.items())
        return (f'<div class="mk-night"><h1>{html.escape(title)}</h1>'
                f'<p class="mk-{"good" if passed else "bad"}">{html.escape(self.player.tally())}</p>{self.player.html()}'
                f'<div class="mk-facts"><table>{chosen}</table><table>{counts}</table>'
                f"<ul>{''.join(f'<li>{html.escape(fault)}</li>' for fault in self.faults())}</ul>"
                f"<pre>{html.escape(self._write())}</pre></div></div>")

    def page(self, name: str = "") -> str:
        """Return the whole page, which plays when it is opened."""
        return ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                '<meta name="color-scheme" content="light dark">'
                f"<title>{html.escape(name)}</title><style>{(HERE / 'page.css').read_text()}</style></head>"
                f'<body data-plays>{self.html(name)}</body></html>')

    def save(self, name: str, folder: str | Path = ".") -> str:
        """Write the page under a name, and print it where there is a browser that can; say what was written."""
        called = re.sub(r"[^\w-]+", "-", str(name)).strip("-")[:60]
        if not called:
            return 'not written: give a name, as in night.save("Ada")'
        path = Path(folder) / f"night-{called}.html"
        try:
            path.write_text(self.page(name), encoding="utf-8")
        except OSError as error:
            return f"not written: {error.strerror}"
        printed = _printed(path)
        return f"written: {path.name}" + (f" and {printed.name}" if printed else "; a browser prints it as a PDF")

    def _write(self) -> str:
        """Return the source of `write`, if it can be had."""
        try:
            return textwrap.dedent(inspect.getsource(self.pipeline.write))
        except (OSError, TypeError):
            return ""

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": f"<style>{(HERE / 'page.css').read_text()}</style>{self.html()}"}

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={value}" for name, value in self.choices().items())
        return "\n".join([self.player.tally(), chosen, *self.faults()])


def _printed(path: Path) -> Path | None:
    """Print a page by a Chromium, if there is one; return the PDF."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return None
    pdf = path.with_suffix(".pdf")
    command = [browser, "--headless", "--disable-gpu", "--no-sandbox", "--no-pdf-header-footer",
               f"--print-to-pdf={pdf.resolve()}", path.resolve().as_uri()]
    try:
        subprocess.run(command, timeout=PATIENCE, check=True, capture_output=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return pdf if pdf.exists() else None
