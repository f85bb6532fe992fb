"""Downloads of files that are known beforehand: by their path in a repository, their size and their SHA-256.

Owns the way of a file from the network onto the disk, and the words when it does not arrive.

Invariants
    I-DOWNLOAD-1  A file gets its name only after its size and SHA-256 were right: no reader finds half a file, or
                  another one. What was right stays when others fail, so a second run fetches only the rest.
    I-DOWNLOAD-2  An error says what happened, and what to do about it. No password of a repository is printed.
    Where nothing at all can be reached this is found out at once, without further attempts.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import http.client
import os
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .trust import Trust, proxies, trust

AT_ONCE = 8
ATTEMPTS = 3  # a public repository answers with a passing error now and then
PAUSE = 1.0  # seconds before the second attempt; twice as long before the third
TIMEOUT = 30.0  # seconds without a byte
PIECE = 1 << 16
PASSING = {408, 429, 500, 502, 503, 504}  # what HTTP calls "try again"
OTHER_WAYS = "MINIKAFKA_MAVEN names another repository"


class DownloadFailed(RuntimeError):
    """A file did not arrive; `remedy` is what a person can do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class NothingReached(DownloadFailed):
    """The repository cannot be reached: most often there is no network."""


class Stopped(Exception):
    """Another file has failed: this one is given up."""


@dataclass(frozen=True)
class Artifact:
    """A file as it must be: its path in the repository, its bytes and their SHA-256 in hexadecimal digits."""

    path: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def is_at(self, path: Path) -> bool:
        """Return whether this very file is stored at `path`. Reads all of it."""
        try:
            with path.open("rb") as stored:
                return hashlib.file_digest(stored, "sha256").hexdigest() == self.sha256
        except OSError:
            return False


def download(files: Sequence[Artifact], base: str, folder: Path, step: Callable[[int], None]) -> None:
    """Fetch files from below the address `base` into a folder, several at once; `step` is called with the size of every piece.

    Raises DownloadFailed for the first that fails (NothingReached where there is no network), or OSError of the disk.
    """
    source = Mirror(base)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="download") as pool:
        running = [pool.submit(_keep_trying, source, file, folder / file.name, step) for file in files]
        try:
            for done in as_completed(running):
                done.result()
        finally:  # on an error, and on Ctrl-C: nobody waits for the others
            source.stop.set()
            pool.shutdown(cancel_futures=True)


class Mirror:
    """A repository under an address: its requests, whether it ever answered, and whether downloads go on."""

    def __init__(self, base: str) -> None:
        parts = urllib.parse.urlsplit(base)
        if parts.scheme not in ("https", "http", "file"):
            raise DownloadFailed(f"{parts.scheme or 'nothing'}: is not the address of a repository",
                                 "let MINIKAFKA_MAVEN begin with https://, http:// or file:///")
        user, _, place = parts.netloc.rpartition("@")
        self.base = urllib.parse.urlunsplit((parts.scheme, place, parts.path.rstrip("/"), "", ""))
        self.host = place or self.base
        self._login = base64.b64encode(urllib.parse.unquote(user).encode()).decode() if user else ""
        self.trust: Trust = trust()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler(proxies()), urllib.request.HTTPSHandler(context=self.trust.context))
        self.answered = False
        self.stop = threading.Event()

    def open(self, path: str) -> BinaryIO:
        request = urllib.request.Request(f"{self.base}/{path}", headers={"User-Agent": "minikafka"})
        if self._login:  # not sent on to where an answer may redirect to
            request.add_unredirected_header("Authorization", f"Basic {self._login}")
        return self._opener.open(request, timeout=TIMEOUT)


def _keep_trying(source: Mirror, file: Artifact, target: Path, step: Callable[[int], None]) -> None:
    """Fetch one file, with further attempts where the error may pass."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _once(source, file, target, step)
        except (OSError, http.client.HTTPException) as error:
            if source.stop.is_set():
                raise Stopped from error
            if isinstance(error, DiskError):
                raise error.reason from None
            if attempt == ATTEMPTS or not _may_pass(source, error):
                raise _explained(source, file, error) from error
        source.stop.wait(PAUSE * attempt)


class DiskError(OSError):
    """Our own disk's error, kept apart from the network's, which are OSErrors as well."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _once(source: Mirror, file: Artifact, target: Path, step: Callable[[int], None]) -> None:
    """Fetch into a file of another name, compare, rename (I-DOWNLOAD-1)."""
    part = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")
    received = 0
    try:
        with source.open(file.path) as answer, _created(part) as out:
            source.answered = True
            digest = hashlib.sha256()
            while received <= file.size and (piece := answer.read(PIECE)):
                if source.stop.is_set():
                    raise Stopped
                _on_disk(out.write, piece)
                digest.update(piece)
                received += len(piece)
                step(len(piece))
        if received < file.size and not (_is_page(answer) or answer.headers.get("Content-Length") == str(received)):
            raise http.client.IncompleteRead(b"", file.size - received)
        if (received, digest.hexdigest()) != (file.size, file.sha256):
            raise _another_file(source, file, answer)
        _on_disk(part.replace, target)
        received = 0  # it counts
    finally:
        part.unlink(missing_ok=True)
        if received:
            step(-received)


def _created(part: Path) -> BinaryIO:
    _on_disk(functools.partial(part.parent.mkdir, parents=True, exist_ok=True))
    return _on_disk(part.open, "wb")


def _on_disk(action: Callable[..., Any], *arguments: Any) -> Any:
    """Return what the action returns. Raises its OSErrors as DiskError."""
    try:
        return action(*arguments)
    except OSError as error:
        raise DiskError(error) from error


def _is_page(answer: BinaryIO) -> bool:
    """Return whether a web page came instead of a file, as from a network that wants people to log in first."""
    return "html" in answer.headers.get("Content-Type", "")


def _another_file(source: Mirror, file: Artifact, answer: BinaryIO) -> DownloadFailed:
    came = "a web page" if _is_page(answer) else "another file"
    return DownloadFailed(
        f"for {file.name} {source.host} sent {came}: the SHA-256 is not the one in the list, so it was not kept",
        "if this network wants a login, open any web page in a browser and log in, then try again; a repository that "
        f"sends other files cannot be used: {OTHER_WAYS}")


def _may_pass(source: Mirror, error: Exception) -> bool:
    if isinstance(error, urllib.error.HTTPError):
        return error.code in PASSING
    return source.answered and not isinstance(_reason(error), ssl.SSLError)


def _reason(error: Exception) -> object:
    return getattr(error, "reason", error)


def _explained(source: Mirror, file: Artifact, error: Exception) -> DownloadFailed:
    """Return the error in words, with its remedy."""
    reason = _reason(error)
    if isinstance(error, urllib.error.HTTPError):
        return _refused(source, file, error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return DownloadFailed(
            f"the certificate of {source.host} is not trusted ({reason.verify_message}); trusted are: "
            + "; ".join(source.trust.sources),
            "this network has a certificate of its own: let SSL_CERT_FILE name the file in which your network's "
            "administrators give it out (PEM)")
    if isinstance(reason, http.client.IncompleteRead):
        return DownloadFailed(f"{source.host} broke off in the middle of {file.name}, {ATTEMPTS} times",
                              f"try again, what has arrived is kept; {OTHER_WAYS}")
    if isinstance(reason, ssl.SSLError) and not isinstance(reason, ssl.SSLEOFError):
        return DownloadFailed(f"no TLS with {source.host} ({reason})",
                              f"is the address right, or the proxy's in https_proxy? {OTHER_WAYS}")
    if "Tunnel connection failed" in str(reason):
        return DownloadFailed(
            f"the proxy lets nothing through to {source.host} ({reason})",
            f"https_proxy=http://NAME:PASSWORD@HOST:PORT where the proxy wants a login; {OTHER_WAYS}")
    if source.base.startswith("file:"):
        return DownloadFailed(f"{source.base}/{file.path} cannot be read ({reason})", "let MINIKAFKA_MAVEN name a "
                              "folder that is laid out like a Maven repository")
    return NothingReached(f"{source.host} cannot be reached ({reason})",
                          f"is there a network? Behind a proxy, let https_proxy name it; {OTHER_WAYS}")


def _refused(source: Mirror, file: Artifact, error: urllib.error.HTTPError) -> DownloadFailed:
    what = f"{source.host} answered {error.code} {error.reason} for {file.path}"
    if error.code in PASSING:
        return DownloadFailed(what, f"try again later; {OTHER_WAYS}")
    if error.code in (401, 407):
        return DownloadFailed(what, "give name and password: https://NAME:PASSWORD@HOST/...")
    return DownloadFailed(what, f"does this repository hold what Maven Central holds? {OTHER_WAYS}")
