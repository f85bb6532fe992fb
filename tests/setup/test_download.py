"""Fetching jars from a repository of the test's own, behind a certificate that nobody knows, as universities have them."""
from __future__ import annotations

import base64
import hashlib
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from minikafka import __main__ as command
from minikafka.machine import download, jars, trust
from minikafka.machine.download import Artifact
from minikafka.machine.jars import JarSet, JarsMissing, NoNetwork

CONTENT = {f"org/small/{name}/1.0/{name}-1.0.jar": name.encode() * 50_000 for name in ("apple", "pear", "plum")}
APPLE, PEAR, PLUM = CONTENT
SMALL = JarSet("small-1.0", "Small 1.0", wanted=(), transitive=False)
OF_THIS_MACHINE = (*trust.NAMED, "MINIKAFKA_MAVEN", "PIP_CONFIG_FILE", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
                   "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class Repository:
    """A web server on the loopback; `answers` maps a path to what it sends, `asked` has the paths of the requests."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.answers: dict[str, list[tuple[int, dict[str, str], bytes]]] = {}
        self.asked: list[str] = []
        self.logins: list[str | None] = []
        for path, body in CONTENT.items():
            self.send(path, body)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.place = f"127.0.0.1:{self.server.server_port}"
        self.address = f"{'https' if certificate else 'http'}://{self.place}/maven2"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def send(self, path: str, *bodies: bytes, status: int = 200, **headers: str) -> None:
        """What is answered for a path: one body after the other, the last one for ever."""
        self.answers[path] = [(status, headers, body) for body in bodies]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = urlsplit(self.path).path.removeprefix("/maven2/")
                repository.asked.append(path)
                repository.logins.append(self.headers["Authorization"])
                queue = repository.answers.get(path, [(404, {}, b"")])
                status, headers, body = queue.pop(0) if len(queue) > 1 else queue[0]
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca.pem, that nobody knows; server.pem, key and certificate of 127.0.0.1 signed by it; folder/ for SSL_CERT_DIR."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the command openssl, to make a certificate")
    folder = tmp_path_factory.mktemp("certificates")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    for words in ("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=campus",
                  "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server",
                  "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile san -out server.crt"):
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
    (folder / "server.pem").write_text((folder / "server.key").read_text() + (folder / "server.crt").read_text())
    (folder / "folder").mkdir()
    shutil.copy(folder / "ca.pem", folder / "folder")
    subprocess.run(["openssl", "rehash", "folder"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, nothing named by the environment or pip, a list of three small jars; returns their folder."""
    for name in OF_THIS_MACHINE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path / "cache"))
    listed = tuple(Artifact(path, len(body), hashlib.sha256(body).hexdigest()) for path, body in CONTENT.items())
    monkeypatch.setattr(jars, "_listed", lambda: {SMALL.name: listed})
    monkeypatch.setattr(jars, "ALL", (SMALL,))
    monkeypatch.setattr(jars, "_compared", set())
    monkeypatch.setattr(download, "PAUSE", 0.0)
    return tmp_path / "cache" / "jars" / SMALL.name


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """A repository without TLS, which the environment names."""
    repository = Repository()
    monkeypatch.setenv("MINIKAFKA_MAVEN", repository.address)
    yield repository
    repository.close()


@pytest.fixture
def campus(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """The same with a certificate that this machine does not know."""
    repository = Repository(certificates / "server.pem")
    monkeypatch.setenv("MINIKAFKA_MAVEN", repository.address)
    yield repository
    repository.close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*")) if folder.exists() else []


ALL_THREE = ["apple-1.0.jar", "pear-1.0.jar", "plum-1.0.jar"]


@pytest.mark.parametrize("name", trust.NAMED)
def test_a_certificate_that_the_environment_names(campus, certificates, machine, monkeypatch, name):
    """Fails if one of the usual variables is not honoured. A trailing file that is not there must not spoil it."""
    monkeypatch.setenv("PIP_CERT", "/not/there.pem")
    monkeypatch.setenv(name, str(certificates / ("folder" if name == "SSL_CERT_DIR" else "ca.pem")))
    assert [path.read_bytes() for path in jars.jars(SMALL)] == list(CONTENT.values())
    assert names(machine) == ALL_THREE


def test_a_certificate_that_pips_settings_name(campus, certificates, tmp_path, monkeypatch):
    """Fails where `pip config set global.cert` was all that a user had to do for pip."""
    (tmp_path / "pip.conf").write_text(f"[global]\ncert = {certificates / 'ca.pem'}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    assert len(jars.jars(SMALL)) == 3


def test_the_systems_certificates_stay_trusted(certificates, monkeypatch):
    """I-TRUST-1: fails if naming a proxy's certificate takes away those that a mirror outside needs."""
    before = len(trust.trust().context.get_ca_certs())
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates / "ca.pem"))
    assert len(trust.trust().context.get_ca_certs()) == before + 1 > 20


def test_a_machine_without_a_list_of_certificates(monkeypatch):
    """Fails if a slim container, or a Python that looks in the wrong place, trusts nobody."""
    monkeypatch.setattr(trust, "SYSTEM", ("/not/there.crt",))
    assert trust.trust().sources[-1].startswith("the list of the package certifi: /")


def test_an_unknown_certificate_is_refused_with_the_remedy(campus, machine, monkeypatch, capsys):
    """Fails if anybody's certificate is taken, if the person is not told what to do, or `make test` takes it for no network."""
    monkeypatch.setenv("SSL_CERT_FILE", "/not/there.pem")
    assert command.main(["jars", "--if-online"]) == 1
    said = capsys.readouterr().err
    assert f"the certificate of {campus.place} is not trusted" in said
    assert "SSL_CERT_FILE: /not/there.pem (is not there)" in said
    assert "let SSL_CERT_FILE name the file" in said
    assert (campus.asked, names(machine)) == ([], [])


def test_a_wrong_file_is_refused_and_the_right_ones_are_kept(web, machine):
    """I-DOWNLOAD-1: fails if a wrong file gets its name, stays as a part, or the others are fetched again afterwards."""
    web.send(PEAR, b"q" + CONTENT[PEAR][1:])
    with pytest.raises(JarsMissing, match="pear-1.0.jar .* sent another file: the SHA-256 is not .*\nRemedy: ") as raised:
        jars.jars(SMALL)
    assert not isinstance(raised.value, NoNetwork)
    assert set(names(machine)) <= {"apple-1.0.jar", "plum-1.0.jar"}
    kept = [path for path in CONTENT if (machine / path.rpartition("/")[2]).exists()]
    web.send(PEAR, CONTENT[PEAR])
    web.asked.clear()
    jars.jars(SMALL)
    assert sorted(web.asked) == sorted(set(CONTENT) - set(kept)) and names(machine) == ALL_THREE


@pytest.mark.parametrize("body", [CONTENT[PEAR] + b"more", CONTENT[PEAR][:-1], b""], ids=["longer", "shorter", "empty"])
def test_a_file_of_another_size_is_refused(web, machine, body):
    """Fails if the first bytes being right is enough, or a server can fill the disk."""
    web.send(PEAR, body)
    with pytest.raises(JarsMissing, match="another file"):
        jars.jars(SMALL)
    assert not (machine / "pear-1.0.jar").exists()


def test_a_page_that_wants_a_login_is_called_so(web):
    """Fails if a hotel's or a campus' login page is not recognised."""
    web.send(PLUM, b"<html>Welcome! Please log in.</html>", Content_Type="text/html; charset=utf-8")
    with pytest.raises(JarsMissing, match="sent a web page: .*\nRemedy: if this network wants a login"):
        jars.jars(SMALL)


def test_a_jar_damaged_in_the_cache_is_fetched_again(web, machine, monkeypatch):
    """I-JARS-1: fails if what lies in the cache is believed by its name and size, or left there when it cannot be mended."""
    def damage():
        (machine / "plum-1.0.jar").write_bytes(b"?" + CONTENT[PLUM][1:])
        monkeypatch.setattr(jars, "_compared", set())  # as in another process
        web.asked.clear()
    jars.jars(SMALL)
    damage()
    assert SMALL.present and jars.jars(SMALL)[2].read_bytes() == CONTENT[PLUM]
    assert web.asked == [PLUM]
    damage()
    monkeypatch.setenv("MINIKAFKA_MAVEN", "none")
    with pytest.raises(NoNetwork):
        jars.jars(SMALL)
    assert not SMALL.present


def test_only_jars_of_the_list_are_handed_out(web, machine):
    """Fails if a jar that somebody put into the folder gets onto the class path."""
    machine.mkdir(parents=True)
    (machine / "aaa.jar").write_bytes(b"evil")
    assert [path.name for path in jars.jars(SMALL)] == ALL_THREE
    assert "aaa.jar" not in jars.class_path(SMALL)


def test_passing_errors_pass(web, machine):
    """Fails if one 503, or one connection that breaks off, spoils 60 MB."""
    web.send(APPLE, b"", CONTENT[APPLE])
    web.answers[APPLE][0] = (503, {}, b"busy")
    web.send(PEAR, b"", CONTENT[PEAR])
    web.answers[PEAR][0] = (200, {"Content-Length": str(len(CONTENT[PEAR]))}, CONTENT[PEAR][:1000])
    assert len(jars.jars(SMALL)) == 3 and names(machine) == ALL_THREE
    assert (web.asked.count(APPLE), web.asked.count(PEAR), web.asked.count(PLUM)) == (2, 2, 1)


@pytest.mark.parametrize("status, times, remedy", [(503, 3, "try again later"), (404, 1, "does this repository hold"),
                                                   (401, 1, "NAME:PASSWORD")])
def test_an_answer_that_is_no_file(web, status, times, remedy):
    """Fails if the error has no status, or a hopeless request is sent again and again."""
    for path in CONTENT:
        web.send(path, b"", status=status)
    with pytest.raises(JarsMissing, match=rf"answered {status} .*\nRemedy: .*{remedy}") as raised:
        jars.jars(SMALL)
    assert not isinstance(raised.value, NoNetwork)
    assert max(web.asked.count(path) for path in CONTENT) == times


def test_a_mirror_with_a_password(web, monkeypatch):
    """Fails if name and password of an address are not sent, or are printed (I-DOWNLOAD-2)."""
    web.send(PEAR, b"", status=404)
    monkeypatch.setenv("MINIKAFKA_MAVEN", web.address.replace("//", "//me:p%40ss@") + "/")
    with pytest.raises(JarsMissing) as raised:
        jars.jars(SMALL)
    assert set(web.logins) == {"Basic " + base64.b64encode(b"me:p@ss").decode()}
    assert web.place in str(raised.value) and "p%40ss" not in str(raised.value) and "p@ss" not in str(raised.value)


def test_a_folder_as_a_mirror(tmp_path, monkeypatch):
    """Fails if a teacher cannot hand out a memory stick."""
    for path, body in CONTENT.items():
        (tmp_path / "stick" / path).parent.mkdir(parents=True)
        (tmp_path / "stick" / path).write_bytes(body)
    monkeypatch.setenv("MINIKAFKA_MAVEN", (tmp_path / "stick").as_uri())
    assert [path.read_bytes() for path in jars.jars(SMALL)] == list(CONTENT.values())
    monkeypatch.setenv("MINIKAFKA_MAVEN", str(tmp_path / "stick"))
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path / "another"))
    with pytest.raises(JarsMissing, match="file:///"):
        jars.jars(SMALL)


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy", "pip"])
def test_a_proxy(web, tmp_path, monkeypatch, name):
    """Fails if the environment's proxy, or pip's, is not taken: the repository's name means nothing but to the proxy."""
    monkeypatch.setenv("MINIKAFKA_MAVEN", "http://repository.invalid/maven2")
    if name == "pip":
        (tmp_path / "pip.conf").write_text(f"[global]\nproxy = http://{web.place}\n")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    else:
        monkeypatch.setenv(name, f"http://{web.place}")
    assert len(jars.jars(SMALL)) == 3


@pytest.mark.parametrize("address", ["https://127.0.0.1:9/maven2", "none"])
def test_without_a_network_make_test_prints_one_line(machine, monkeypatch, capsys, address):
    """Fails if `make test` on a train ends before its tests, or prints more than a line; without the option it is an error."""
    monkeypatch.setenv("MINIKAFKA_MAVEN", address)
    assert command.main(["jars", "--if-online"]) == 0
    said = capsys.readouterr()
    assert said.out.count("\n") == 1 and said.out.endswith(": the tests that need Small 1.0 are skipped\n") and said.err == ""
    assert command.main(["jars"]) == 1
    assert "Remedy: " in capsys.readouterr().err
    assert not machine.exists()


def test_a_disk_that_cannot_be_written(web, machine):
    """Fails if the disk's error is taken for the network's, or ends in a traceback."""
    machine.parent.mkdir(parents=True)
    machine.write_text("a file where the folder should be")
    with pytest.raises(JarsMissing, match="the disk says: .*\nRemedy: make room") as raised:
        jars.jars(SMALL)
    assert not isinstance(raised.value, NoNetwork)
