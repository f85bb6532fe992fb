"""A closed cluster: a client needs TLS, a password or both, and all that is needed for it is made with the cluster.

    tls         whoever trusts the cluster's authority may connect, and nobody can read what is sent
    scram       a user logs in by SCRAM-SHA-512 or -256, which proves that both sides know the password and never sends it
    tls+scram   both

The brokers know one user, USER. More are added as Kafka does it, by AlterUserScramCredentials (`kafka-configs.sh`).

    <folder>/security/ca.pem   the authority, which clients trust; ca.key signs       user   the first user, for each mechanism
                      node.pem the key and the certificate of each node

Owns: this folder, and the settings of brokers and clients that name its files.
Invariants
    I-CLOSED-1  Only the owner of a cluster can read its keys and its password; no command line has a password.
    I-CLOSED-2  No listener of a closed cluster serves whoever comes: nodes of ours prove by the cluster's secret that they
                belong to it, Apache's by a certificate of its authority.
    The certificate of the nodes is signed anew at each opening, for the host names of today's listeners.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import shutil
import subprocess

from minikafka.machine.files import write_atomic

from .errors import ClusterError
from .plan import HOST, Plan
from .security import LOGIN, OPEN, Security

USER = "notebook"
MECHANISM = "SCRAM-SHA-512"  # of this notebook's clients
MECHANISMS = [name for name in LOGIN if name.startswith("SCRAM")]
NODES_NEED_TLS = SERVES_NEIGHBOURS = "apache"  # the engine whose nodes have no other proof, and which knows no user (S6)
KEY = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
DAYS = 3650


class ClosedFolder:
    """The files of one closed cluster."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.folder = plan.folder / "security"
        self.authority, self.node, self.user = (self.folder / name for name in ("ca.pem", "node.pem", "user"))
        self.tls = plan.security is not None and ("tls" in plan.security or plan.engine == NODES_NEED_TLS)
        self.scram = plan.security is not None and "scram" in plan.security

    def make(self) -> None:
        """Make what is missing. Raises ClusterError where certificates are needed and the program `openssl` is not here."""
        if self.plan.security is None:
            if self.plan.engine == SERVES_NEIGHBOURS and any(name.startswith("JUPYTERHUB_") for name in os.environ):
                print('Apache Kafka serves every user of this machine: Cluster(..., security="scram") asks for a password')
            return
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if self.scram and not self.user.exists():
            password = secrets.token_urlsafe(18)
            write_atomic(self.user, "".join(f"{name}=[name={USER},password={password}]\n" for name in MECHANISMS), 0o600)
        if not self.tls:
            return
        if not self.authority.exists():
            self._openssl(f"req -x509 {KEY} -days {DAYS} -subj /CN=minikafka -keyout ca.key -out ca.new")
            (self.folder / "ca.new").rename(self.authority)
        write_atomic(self.folder / "names", f"subjectAltName={','.join(self._names())}\n")
        self._openssl(f"req {KEY} -subj /CN=node -keyout node.key -out node.csr")
        self._openssl(f"x509 -req -days {DAYS} -in node.csr -CA ca.pem -CAkey ca.key -set_serial {secrets.randbits(63)} "
                      "-extfile names -out node.crt")
        parts = [self.folder / name for name in ("node.key", "node.crt")]
        write_atomic(self.node, "".join(part.read_text() for part in parts), 0o600)
        for used in (*parts, self.folder / "node.csr", self.folder / "names"):
            used.unlink()

    def _names(self) -> list[str]:
        """Return the hosts by which clients find the nodes, as a certificate names them."""
        more = [one for node in self.plan.brokers for one in node.more.values()]
        hosts = [HOST, "localhost", *(one.host for one in more), *(one.advertised.rpartition(":")[0] for one in more)]
        return [f"{'IP' if _is_address(host) else 'DNS'}:{host}" for host in dict.fromkeys(hosts)]

    def _openssl(self, arguments: str) -> None:
        if shutil.which("openssl") is None:
            raise ClusterError(f"security={self.plan.security!r} needs the program openssl, which is not here: "
                               "`apt install openssl`, `brew install openssl` or `conda install openssl` brings it")
        done = subprocess.run(["openssl", *arguments.split()], cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode:
            raise ClusterError(f"openssl {arguments} failed:\n{done.stderr[-1000:]}")

    # --- the settings that name these files ---------------------------------------------------------------------------

    def properties(self) -> dict[str, str]:
        """Return the settings of each node, the same for both engines."""
        told: dict[str, str] = {}
        if self.tls:
            told |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.node),
                     "ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority)}
        if self.scram:
            told["sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
            names = {self.plan.client_listener, *(name for node in self.plan.brokers for name in node.more)}
            told |= {f"listener.name.{name.lower()}.{mechanism.lower()}.sasl.jaas.config": f"{LOGIN[mechanism]} required;"
                     for name in sorted(names) for mechanism in MECHANISMS}
        return told

    def super_users(self) -> dict[str, str]:
        """Return who may do everything, where access lists decide: this notebook, nodes by their certificate, and whom the
        configuration names."""
        if self.plan.security is None or not self.plan.config.get("authorizer.class.name"):
            return {}
        ours = [f"User:{USER}"] * self.scram + ["User:CN=node"] * (self.plan.engine == NODES_NEED_TLS)
        named = self.plan.config.get("super.users", "")
        return {"super.users": ";".join(filter(None, [named, *ours]))}

    def for_clients(self) -> Security:
        """Return the settings with which this notebook's clients log in."""
        if self.plan.security is None:
            return OPEN
        told = {"security_protocol": self.plan.client_listener}
        if "tls" in self.plan.security:
            told["ssl_cafile"] = str(self.authority)
        if self.scram:
            password = re.search(r"password=([^,\]]+)", self.user.read_text())
            assert password is not None
            told |= {"sasl_mechanism": MECHANISM, "sasl_plain_username": USER, "sasl_plain_password": password[1]}
        return Security(told)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
