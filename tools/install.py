"""`pip install` with those of this machine's settings that say how packages are reached, and with no others.

    .venv/bin/python tools/install.py -r requirements.lock

A pip.conf, or a variable PIP_..., may say where packages go and which are right (`user`, `target`, `constraint`): that was meant
for other projects, and `make setup` would end in pip's words, or install beside .venv without a word.
"""
import ast
import os
import subprocess
import sys

REACH = ("index-url", "extra-index-url", "no-index", "find-links", "trusted-host", "proxy", "cert", "client-cert",
         "keyring-provider", "use-feature", "retries", "timeout", "default-timeout", "cache-dir", "no-cache-dir", "log")
SECTIONS = ("global", "install", ":env:")  # the last one that has a setting wins
PIP = (sys.executable, "-m", "pip")


def settings() -> dict[str, str]:
    """Return what pip reads from its files and from the variables PIP_..., by `section.name`."""
    # They would change this list, too: `user` hides all files but the user's own.
    off = dict.fromkeys(("PIP_USER", "PIP_GLOBAL", "PIP_SITE", "PIP_QUIET", "PIP_VERBOSE"), "0")
    plain = off | {"PIP_PYTHON": sys.executable}
    rows = subprocess.run([*PIP, "config", "list"], env=os.environ | plain, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: ast.literal_eval(value) for name, value in (line.split("=", 1) for line in rows.splitlines())}


def reach() -> dict[str, str]:
    """Return the environment in which pip has those settings only."""
    found = settings()
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    for section in SECTIONS:
        variables.update({f"PIP_{name.upper().replace('-', '_')}": found[f"{section}.{name}"]
                          for name in REACH if f"{section}.{name}" in found})
    return variables | {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def main() -> None:
    """Become pip."""
    os.execve(sys.executable, [*PIP, "install", "--quiet", *sys.argv[1:]], reach())


if __name__ == "__main__":
    main()
