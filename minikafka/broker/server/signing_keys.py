"""The keys by which a listener knows signed tokens: a JWKS (RFC 7517), from a file or from a web server.

    sasl.oauthbearer.jwks.endpoint.url    file:///...: the file is read again when it was modified
                                          http(s)://...: it is read again after `.jwks.endpoint.refresh.ms`, and when a token
                                          names a key that is not there, for one name once a minute

Owns: the present keys of a listener, and the thread that reads them from a web server.
Invariants: I-JWKS-1 what cannot be read replaces no keys of a web server; a file that cannot be read lets nobody in.
What Kafka does differently: it reads only addresses in the Java property org.apache.kafka.sasl.oauthbearer.allowed.urls; and
its trust in a web server is a setting of the JAAS text, here it is the machine's.
Source: VerificationKeyResolverFactory, CachedFile, RefreshingHttpsJwks, Retry.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from minikafka.broker.config.definition import ConfigError
from minikafka.broker.server.signed_tokens import Keys, SigningKey, read_keys
from minikafka.protocol.text import trim

log = logging.getLogger("minikafka.login")

URL, REFRESH = "sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.jwks.endpoint.refresh.ms"
TIMES = "refresh", "retry.backoff", "retry.backoff.max"  # settings in ms
OPTION = f"The OAuth configuration option {URL} contains a"
WEB_TIMEOUT_S = 20.0
ONE_NAME_S, LONGEST_NAME, MOST_NAMES = 60.0, 1000, 16  # between two readings for one name that is not there


def keys_at(value: Callable[[str], Any]) -> Keys:  # Any: by the name
    """Return the keys that a listener's settings name. Raises ConfigError if they cannot be read now."""
    url = trim(value("sasl.oauthbearer.jwks.endpoint.url") or "")
    scheme = urlsplit(url).scheme.lower()
    if scheme not in ("http", "https", "file"):
        wrong = f'contains an invalid protocol ({scheme}); only "http", "https", and "file" protocol are supported'
        raise ConfigError(URL, url, f"{OPTION} URL ({url}) that {wrong if scheme else f'is malformed: no protocol: {url}'}")
    if scheme == "file":
        return KeyFile(Path(unquote(urlsplit(url).path)))
    return WebKeys(url, *(value(f"sasl.oauthbearer.jwks.endpoint.{name}.ms") / 1000 for name in TIMES))


class KeyFile:
    """The keys in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        why = "doesn't exist" if not path.exists() else "doesn't have read permission" if not os.access(path, os.R_OK) else ""
        if why or path.is_dir():
            raise ConfigError(URL, path, f"{OPTION} file ({path}) that {why}" if why else
                              f"The OAuth configuration option {URL} references a directory ({path}), not a file")
        try:
            self._read()
        except (OSError, ValueError) as error:
            raise ConfigError(URL, path, str(error)) from error

    def _read(self) -> None:
        self._modified = os.stat(self._path).st_mtime_ns
        self._keys = read_keys(self._path.read_text())

    def now(self) -> Sequence[SigningKey]:
        """Return the present keys; none if the file cannot be read (I-JWKS-1)."""
        try:
            if os.stat(self._path).st_mtime_ns != self._modified:
                self._read()
        except (OSError, ValueError) as error:
            self._modified, self._keys = 0, ()
            log.warning("the keys of tokens cannot be read from %s: %s", self._path, error)
        return self._keys

    def missed(self, name: str | None) -> None:
        """Do nothing: the file was looked at."""


class WebKeys:
    """The keys of a web server. A thread reads them; the broker waits for it at its start only."""

    def __init__(self, url: str, refresh_s: float, backoff_s: float, longest_s: float) -> None:
        if refresh_s <= 0 or not 0 <= backoff_s <= longest_s:
            raise ConfigError(REFRESH, round(refresh_s * 1000), "must be positive, and "
                              "retry.backoff.ms not more than retry.backoff.max.ms")
        self.url, self._refresh_s, self._backoff_s, self._longest_s = url, refresh_s, backoff_s, longest_s
        self._missed: dict[str, float] = {}
        self._asked = threading.Event()
        try:
            self._keys = self._read()
        except (OSError, ValueError) as error:
            raise ConfigError(URL, url, f"Could not refresh JWKS: {error}") from error
        threading.Thread(target=self._renew, name="keys of tokens", daemon=True).start()

    def _read(self) -> tuple[SigningKey, ...]:
        import urllib.request  # only here: most brokers never need it
        from http.client import HTTPException
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self.url, timeout=WEB_TIMEOUT_S) as answer:
                return read_keys(answer.read().decode())
        except HTTPException as error:
            raise OSError(error) from error

    def now(self) -> Sequence[SigningKey]:
        """Return the present keys."""
        return self._keys

    def missed(self, name: str | None) -> None:
        """Have the keys read at once, unless that was done for this name within the last minute."""
        now = time.monotonic()
        if name is None or len(name) > LONGEST_NAME or now - self._missed.get(name, -ONE_NAME_S) < ONE_NAME_S:
            return
        while len(self._missed) >= MOST_NAMES:
            del self._missed[next(iter(self._missed))]
        self._missed[name] = now
        self._asked.set()

    def _renew(self) -> None:
        while True:
            self._asked.wait(self._refresh_s)
            self._asked.clear()
            self._try_for_long()

    def _try_for_long(self) -> None:
        """Read the keys, and again after longer and longer waits, until it works or the longest wait is over (I-JWKS-1)."""
        end, wait = time.monotonic() + self._longest_s, self._backoff_s
        while True:
            try:
                self._keys = self._read()
                return
            except (OSError, ValueError) as error:
                if time.monotonic() + wait > end:
                    log.warning("OAuth JWKS refresh of %s encountered an error; not updating local JWKS cache: %s",
                                self.url, error)  # fmt: skip
                    return
            time.sleep(wait)
            wait = min(max(0.001, wait * 2), self._longest_s)
