"""The certificates that a download trusts, and its proxy: from this machine, its environment and pip's settings.

Owns the certificates of a download. Universities and companies often put a proxy with a certificate of its own between
their machines and the network; where pip works, that certificate is named already, and it serves here too.

Invariants
    I-TRUST-1  Certificates that are named are added to the system's, they do not replace them: what is fetched is known
               by its SHA-256 beforehand, so one more certificate cannot bring in another file.
"""

from __future__ import annotations

import configparser
import os
import ssl
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

NAMED = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")

# A Python from uv or pyenv looks where its builder's system kept them, so these are tried whatever OpenSSL's own settings are.
SYSTEM = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # newer Fedora
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # Alpine, macOS
)


@dataclass(frozen=True)
class Trust:
    """A TLS context, and in words where its certificates are from: a person who is refused must know where to look."""

    context: ssl.SSLContext
    sources: tuple[str, ...]


def trust() -> Trust:
    """Return the system's certificates, and those that the environment or pip's settings name (I-TRUST-1)."""
    context = ssl.create_default_context()
    # Python 3.13 became stricter than browsers and pip: the certificates of many such proxies lack what it asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return Trust(context, tuple(_load(context, *source) for source in [*_named(), _system()]))


def proxies() -> dict[str, str]:
    """Return the proxy for each scheme: from https_proxy and the like, from ALL_PROXY, or else from pip's own `proxy`."""
    found = urllib.request.getproxies()
    for_all = found.get("all") or (None if "https" in found else _pip_setting("proxy"))
    if for_all and for_all.startswith("http"):
        found = {"http": for_all, "https": for_all} | found
    return found


def _named() -> list[tuple[str, Path]]:
    named = [(name, os.environ[name]) for name in NAMED if os.environ.get(name)]
    if setting := _pip_setting("cert"):
        named.append(("pip's setting `cert`", setting))
    return [(name, Path(value).expanduser()) for name, value in named]


def _system() -> tuple[str, Path]:
    """Return the system's list; where a machine has none, the one that came with the environment's packages."""
    for path in map(Path, SYSTEM):
        if path.is_file():
            return "the system's list", path
    import certifi
    return "the list of the package certifi", Path(certifi.where())


def _load(context: ssl.SSLContext, name: str, path: Path) -> str:
    """Add a file or folder of certificates; returns how that went: one that is named wrongly must not hide the others."""
    try:
        context.load_verify_locations(**{"capath" if path.is_dir() else "cafile": str(path)})
    except OSError as error:  # ssl.SSLError is one
        why = "is not there" if isinstance(error, FileNotFoundError) else "holds no certificate that can be read"
        return f"{name}: {path} ({why})"
    return f"{name}: {path}"


def _pip_setting(name: str) -> str | None:
    """Return a setting from pip's configuration files; a later file wins, as with pip."""
    config = configparser.RawConfigParser(strict=False)
    for path in _pip_files():
        try:
            config.read(path)
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue  # pip itself complains of such a file
    found = [config.get(part, name, fallback="").strip() for part in ("install", "global")]
    return next(filter(None, found), None)


def _pip_files() -> list[Path]:
    named = os.environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:  # pip's way to say "read none"
        return []
    home = Path(os.path.expanduser("~"))
    user = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    shared = [Path(folder) / "pip" for folder in os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if folder]
    folders = [*shared, Path("/etc"), Path("/Library/Application Support/pip"), home / ".pip", user / "pip",
               home / "Library" / "Application Support" / "pip", Path(sys.prefix)]
    return [*(folder / "pip.conf" for folder in folders), *([Path(named)] if named else [])]
