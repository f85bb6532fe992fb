#!/bin/sh
# Builds docker/Dockerfile without Docker, and tries what comes out: JupyterLab behind its token, and a cluster of each engine.
#
#   tools/image.sh       as root, with buildah and mmdebstrap (Debian: apt install buildah mmdebstrap); leaves nothing behind
#
# The image that the Dockerfile begins with comes from a registry of images. Here one of the same kind is made from Debian's
# packages, and gets its name. The machine's own certificates and settings of pip go along, so it works behind a proxy, too.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
work=$(mktemp -d)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
cd "$root"

say() { printf '%s\n' "image: $*"; }
b() { command=$1; shift; buildah --root "$work/storage" --runroot "$work/run" "$command" "$@"; }
clean() {
    [ -z "${lab:-}" ] || { kill -- "-$lab" 2>/dev/null && wait "$lab" || :; }
    b rm --all >/dev/null 2>&1 || :
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

base=$(sed -n 's/^FROM \([^ ]*\) AS base$/\1/p' docker/Dockerfile)
say "a stand-in for $base from Debian's packages"
mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates bookworm "$work/base.tar"
from=$(b from scratch)
b add --quiet "$from" "$work/base.tar" / >/dev/null
rm "$work/base.tar"
b run "$from" ln -s /usr/bin/python3 /usr/local/bin/python
b copy --quiet "$from" /etc/ssl/certs /etc/ssl/certs >/dev/null
for file in /etc/pip.conf /etc/apt/apt.conf.d/*proxy*; do
    [ ! -f "$file" ] || b copy --quiet "$from" "$file" "$file" >/dev/null
done
for name in SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE PIP_CERT PIP_INDEX_URL http_proxy https_proxy no_proxy; do
    eval "value=\${$name:-}"
    [ -z "$value" ] || b config --env "$name=$value" "$from"
done
b commit --quiet "$from" "$base" >/dev/null
b rm "$from" >/dev/null

say "docker/Dockerfile"
b build --pull-never --layers=false -f docker/Dockerfile --ignorefile docker/Dockerfile.dockerignore -t minikafka . \
    >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log"; exit 1; }

box=$(b from --pull-never minikafka)
say "one record through each engine"
b run "$box" .venv/bin/python - <<'END'
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from minikafka import Cluster

for engine in ("minikafka", "apache"):
    with Cluster(brokers=3, engine=engine, config={"default.replication.factor": 3}) as cluster:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")
        kept = producer.send("greetings", b"hello").get(60)
        consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=60000)
        consumer.assign([TopicPartition("greetings", kept.partition)])
        assert next(consumer).value == b"hello", engine
        producer.close(), consumer.close()
    print(f"image: {engine}: written and read")
END

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
say "make lab at port $port"
# In a group of its own: buildah does not pass a signal on to what it runs.
setsid buildah --root "$work/storage" --runroot "$work/run" run "$box" \
    make lab ARGS="--no-browser --ip=127.0.0.1 --port=$port" >"$work/lab.log" 2>&1 &
lab=$!
python3 - "$work/lab.log" "$port" <<'END'
import re, sys, time, urllib.error, urllib.request

log, port = sys.argv[1:]
limit = time.monotonic() + 120
while not (found := re.search(rf"http://127.0.0.1:{port}/\S*token=\w+", said := open(log).read())):
    if time.monotonic() > limit:
        sys.exit(f"image: no address after two minutes; it said:\n{said}")
    time.sleep(0.2)
lab = found[0]


def status(url):
    try:
        return urllib.request.urlopen(url, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code


token = lab.partition("?")[2]
notebook = f"http://127.0.0.1:{port}/api/contents/labs/00-first-cluster.ipynb"
answers = status(lab), status(f"{notebook}?{token}"), status(notebook)
assert answers == (200, 200, 403), answers
print("image: the first lab opens with its token, and not without")
END
