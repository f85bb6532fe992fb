"""JAAS, the text in which Kafka's configurations name a login module and its options: `MODULE required name="value" ...;`

Owns: the reading of one such text. Invariants: no part of a text is in a message, for its options may be passwords.
What Kafka does differently: a file of the Java program may have these texts too, and name several modules.
Source: org.apache.kafka.common.security.JaasConfig.
"""

from __future__ import annotations

import re

from minikafka.broker.config.definition import ConfigError

PACKAGE = "org.apache.kafka.common.security."
PLAIN, BEARER = (PACKAGE + name for name in ("plain.PlainLoginModule", "oauthbearer.OAuthBearerLoginModule"))
_OPTION = r'[\w.@-]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;"=]+)'
_TEXT = re.compile(rf"\s*([\w.]+)\s+required((?:\s+{_OPTION})*)\s*;\s*")


def options(name: str, text: str, module: str, example: str) -> dict[str, str]:
    """Return the options in the `text` of the configuration `name`; ConfigError, with an example, if it is no such text."""
    found = _TEXT.fullmatch(text)
    if found is None or found[1] != module:
        raise ConfigError(name, "[hidden]", f"expected {module} required{example};")
    pairs = (option.split("=", 1) for option in re.findall(_OPTION, found[2]))
    return {key.strip(): _unquoted(value.strip()) for key, value in pairs}


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
