"""`python -m minikafka.broker FILE.properties`: one node as a process.

Standard input carries fault commands, one JSON object per line, and its end ends the process; the log goes to standard
error. SIGTERM is a controlled shutdown.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import resource
import signal
import sys

import uvloop

from minikafka.broker import import_trimming  # noqa: F401  # before all others
from minikafka.broker.broker import Broker
from minikafka.broker.compat.scram import first_user
from minikafka.broker.config.definition import ConfigError, plain
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.metadata.records import UserScramCredentialRecord
from minikafka.broker.server.certificates import CertificateFiles
from minikafka.broker.server.lag import LagMonitor
from minikafka.broker.server.listeners import (
    brokers_listener,
    check_exposure,
    check_listeners,
    nodes_and_clients,
    takes_signed,
)
from minikafka.broker.server.live import LiveEnv, append_only, die_with_parent, obey_standard_input
from minikafka.broker.server.log_lines import log_to_stderr
from minikafka.broker.server.login import check_logins, key_settings
from minikafka.broker.server.signing_keys import keys_at
from minikafka.broker.server.trace import Tracer
from minikafka.broker.storage.shell.log_dir import LogDirError

GARBAGE = (10_000, 20, 20)  # Python looks for garbage seldom: each look through what a long request has made takes long
KEPT = 32 << 20  # bytes of memory that the process keeps for its next large message, instead of giving them back each time
SWITCH_S = 0.001  # a thread that computes lets the event loop go on after so long, instead of Python's 5 ms


def main(path: str) -> int:
    log_to_stderr()
    _raise_file_limit()
    _keep_memory()
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()  # what was imported is never garbage: to look through it again and again would hold up the event loop
    gc.set_threshold(*GARBAGE)
    gc.enable()
    loop = uvloop.new_event_loop()
    env = LiveEnv(loop)
    try:
        config = BrokerConfig(read_properties(env.fs.read(path).decode()))
        _check_required(config)
        check_listeners(config)
        check_logins(config)
        for warning in check_exposure(config):
            logging.warning("%s", warning)
        nodes, clients = nodes_and_clients(config)
        env.certificates = {one.name: CertificateFiles(one.name, config) for one in (*nodes, *clients, brokers_listener(config))
                            if one.protocol.endswith("SSL")}
        env.keys = {one.name: keys_at(key_settings(one, config)) for one in clients if takes_signed(one, config)}
        if secret_file := config["minikafka.cluster.secret.file"]:
            env.cluster_secret = read_secret(env, secret_file)
        if user_file := config["minikafka.first.user.file"]:
            env.first_users = read_users(env, user_file)
    except (ConfigError, OSError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 2
    if config.without_effect:
        logging.warning("these configurations have no effect here: %s", ", ".join(config.without_effect))
    if trace_file := config["minikafka.trace.file"]:
        env.trace = Tracer(env, config["node.id"], str(env.uuid()), append_only(trace_file))
    return loop.run_until_complete(_run(Broker(env, config), env))


async def _run(broker: Broker, env: LiveEnv) -> int:
    die_with_parent()
    obey_standard_input(env)
    LagMonitor(env).start()
    asked = asyncio.Event()
    env.loop.add_signal_handler(signal.SIGTERM, asked.set)
    env.loop.add_signal_handler(signal.SIGINT, lambda: None)  # an interrupted notebook cell must not stop the broker
    life = env.loop.create_task(_live(broker, asked))
    await asyncio.wait([life, env.crashed], return_when=asyncio.FIRST_COMPLETED)
    failed = env.crashed if env.crashed.done() else life
    if (error := failed.exception()) is None:
        return 0
    env.trace("crash", error=repr(error))
    if isinstance(error, LogDirError):
        logging.critical("%s", error)
    else:
        logging.critical("the broker dies of an error", exc_info=error)
    return 1


async def _live(broker: Broker, asked: asyncio.Event) -> None:
    starting = asyncio.ensure_future(broker.start())
    waiting = asyncio.ensure_future(asked.wait())
    await asyncio.wait([starting, waiting], return_when=asyncio.FIRST_COMPLETED)
    if starting.done():
        starting.result()
        await waiting
    await broker.stop()


def read_properties(text: str) -> dict[str, str]:
    """Return the settings in the text of a Kafka `server.properties`: key=value lines, # for comments; two
    backslashes are one."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key.strip(): value.strip().replace("\\\\", "\\") for key, _, value in pairs}


def _check_required(config: BrokerConfig) -> None:
    """Raise ConfigError if the file lacks a required setting; with Kafka's text, where Kafka requires it."""
    if config.node_id is None:
        raise plain("Missing configuration `node.id` which is required when `process.roles` is defined")
    if not config["controller.quorum.voters"]:
        raise plain("If using process.roles, controller.quorum.voters must contain a parseable set of controllers: "
                    "id@host:port, where INTERNAL of the voters listens")
    if config["authorizer.class.name"] and not config["minikafka.cluster.secret.file"]:
        raise plain("authorizer.class.name needs minikafka.cluster.secret.file: without a secret whoever reaches the listener "
                    "for the nodes may do everything, whatever the access lists say")


def read_secret(env: LiveEnv, path: str) -> bytes:
    """Return the secret of the cluster; raise ConfigError if the file has none."""
    secret = env.fs.read(path)
    if len(secret) < 16:
        raise ConfigError("minikafka.cluster.secret.file", path, "Expected a file of at least 16 random bytes")
    return secret


def read_users(env: LiveEnv, path: str) -> list[UserScramCredentialRecord]:
    """Return the first users of a new cluster, one a line; raise ConfigError if the file has none."""
    try:
        return [first_user(line, env.uuid().bytes) for line in env.fs.read(path).decode().splitlines() or [""]]
    except ValueError as error:
        raise ConfigError("minikafka.first.user.file", path, str(error)) from error


def _keep_memory() -> None:
    """Let the C library keep the memory of large messages: each page given back costs a page fault when it comes again: see
    the CPU time of `bench --only consume`. (glibc only; other C libraries have no mallopt.)"""
    trim_threshold, mmap_threshold = -1, -3
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(trim_threshold, KEPT)
        mallopt(mmap_threshold, KEPT)


def _raise_file_limit() -> None:
    """Raise the limit of open files to its maximum: files and connections share it (server.py)."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m minikafka.broker FILE.properties  (`python -m minikafka start` makes a whole cluster)")
    sys.exit(main(sys.argv[1]))
