#!/bin/sh
# Makes .venv with exactly the versions of requirements.lock, and this project in it (editable). Run by `make setup`.
#
#   tools/setup.sh [FOLDER]      FOLDER: the environment, .venv beside the Makefile when not given
#
# Needs no root. Uses uv when it is on the PATH, otherwise `python3 -m venv` and pip. Leaves a stamp (a hash of the lock and
# of the place), so the second call returns at once and a half-made environment is finished, never trusted.
# MINIKAFKA_PYTHON names another Python than the first good one on the PATH.
set -eu
# Another project's rules for its own versions; what they are to pip, install.py leaves out.
unset UV_CONSTRAINT UV_BUILD_CONSTRAINT UV_OVERRIDE UV_EXCLUDE UV_EXCLUDE_NEWER UV_REQUIRE_HASHES UV_PROJECT UV_WORKING_DIR

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
venv=${1:-$root/.venv}
stamp=$venv/.minikafka-setup
python=$venv/bin/python

say() { printf '%s\n' "$@" >&2; }
die() { trap - EXIT; printf '\n' >&2; printf '%s\n' "$@" >&2; exit 1; }

digest() {  # what the environment was made from; cksum is in POSIX, sha256sum is not
    { cat "$root/requirements.lock" "$root/tools/setup.sh"; printf '%s\n' "$root" "$venv"; } | cksum
}

good() {  # is this command a Python that the lock was made for, and a whole one?
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${MINIKAFKA_PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if good "$candidate"; then printf '%s\n' "$candidate"; return; fi
    done
}

broken_venv() {
    die "This Python ($1) cannot make virtual environments: its module '$2' is missing." \
        "(Debian and Ubuntu ship it as a package of its own.)  One of these helps; then run make again:" \
        "  1. with root:     apt install python3-venv" \
        "  2. without root:  install uv (its documentation says how); it is used when it is on the PATH" \
        "  3. with conda:    conda env create -f environment.yml && conda activate minikafka"
}

ours() {  # making an environment empties its folder: only one that is an environment, or not there
    [ ! -e "$venv" ] || [ -f "$venv/pyvenv.cfg" ] || die "$venv exists and is no virtual environment: nothing was touched."
}

make_with_uv() {
    if ! { [ -x "$python" ] && good "$python"; }; then
        ours
        uv venv --quiet --seed --clear --python "${1:-3.11}" "$venv"
    fi
    uv pip install --quiet --python "$python" -r "$root/requirements.lock"
    uv pip install --quiet --python "$python" --no-deps --no-build-isolation -e "$root"
}

make_with_pip() {
    if ! "$python" -m pip --version >/dev/null 2>&1; then
        [ -n "$1" ] || die "No Python 3.11 to 3.14 found. Install one (Debian, Ubuntu: apt install python3 python3-venv)," \
            "or name it: make setup MINIKAFKA_PYTHON=/path/to/python3.12"
        "$1" -c 'import venv' >/dev/null 2>&1 || broken_venv "$1" venv
        "$1" -c 'import ensurepip; ensurepip.version()' >/dev/null 2>&1 || broken_venv "$1" ensurepip
        ours
        "$1" -m venv --clear "$venv" || broken_venv "$1" venv
    fi
    "$python" "$root/tools/install.py" -r "$root/requirements.lock"
    "$python" "$root/tools/install.py" --no-deps --no-build-isolation -e "$root"
}

now=$(digest)
if [ -x "$python" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ]; then exit 0; fi

rm -f "$stamp"
base=$(find_python)
trap '[ -f "$stamp" ] || say "" "setup: not finished (see above). The first set-up needs a network; what is there is kept: run it again."' EXIT
if command -v uv >/dev/null 2>&1; then
    say "setup: installing into $venv with uv (once; about 1.3 GB with Spark) ..."
    make_with_uv "$base"
else
    say "setup: installing into $venv with pip (once; about 1.3 GB with Spark, a few minutes) ..."
    make_with_pip "$base"
fi
# Who shares this folder may not write into it: each of their brokers would compile all of it anew.
"$python" -m compileall -q "$root/minikafka" || say "setup: some modules are not compiled; brokers start later."
"$python" -m minikafka.lab.spark.classes
printf '%s\n' "$now" > "$stamp"
if told=$("$python" -m minikafka doctor --spark 2>&1); then
    say "setup: ready ($("$python" --version))"
else
    say "setup: ready ($("$python" --version)), but for Spark, which the labs from 11 on need:" "$told"
fi
