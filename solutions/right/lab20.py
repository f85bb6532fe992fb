"""Right answers to the stages of elective 20, of different make: each a file of the program, beside the solved earlier ones."""
from pathlib import Path

from tools.notebooks.source import read
from tools.notebooks.student import FILE

SOURCE = Path(__file__).parents[1] / "source" / "20-build-a-broker.md"
SOLVED = {found[1]: cell.source[found.end():] + "\n" for cell in read(SOURCE).cells if (found := FILE.match(cell.source))}
FRAME, METADATA, PRODUCE, FETCH, LIST, COMMITS, GROUP, REPLICAS, CONTROLLER = (SOLVED[name] for name in (
    "my_1_frame.py", "my_2_metadata.py", "my_3_produce.py", "my_4_fetch.py", "my_5_list_offsets.py",
    "my_6_commits.py", "my_7_group.py", "my_8_replicas.py", "my_9_controller.py"))


def changed(text, *pairs):
    """Return a text in which each first of a pair stands as the second."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def after(text, marker):
    return text[text.index(marker):]


SOCKETSERVER = '''
import socketserver
import struct
import sys

TABLE = bytes.fromhex("00000001" "001200000002")


class Client(socketserver.StreamRequestHandler):
    def handle(self):
        while size := self.rfile.read(4):
            frame = self.rfile.read(int.from_bytes(size, "big"))
            key, version, number = struct.unpack_from(">hhi", frame)
            assert key == 18
            bad = version > 2
            body = struct.pack(">ih", number, 35 if bad else 0) + TABLE
            if version in (1, 2):
                body += bytes(4)
            self.wfile.write(struct.pack(">i", len(body)) + body)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True


def main():
    Server(("127.0.0.1", int(sys.argv[1])), Client).serve_forever()
'''
ASYNCIO = '''
import asyncio
import sys


async def client(reader, writer):
    try:
        while True:
            size = int.from_bytes(await reader.readexactly(4), "big")
            frame = await reader.readexactly(size)
            version, number = int.from_bytes(frame[2:4], "big"), frame[4:8]
            known = version <= 2
            body = number + (b"\\0\\0" if known else b"\\0\\x23")
            body += b"\\0\\0\\0\\1" + b"\\0\\x12\\0\\0\\0\\2" + (b"\\0\\0\\0\\0" if known and version else b"")
            writer.write(len(body).to_bytes(4, "big") + body)
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()


async def serve():
    server = await asyncio.start_server(client, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


def main():
    asyncio.run(serve())
'''
SELECTORS = '''
import selectors
import socket
import struct
import sys

waiting = {}
chooser = selectors.DefaultSelector()


def take(sock):
    part = sock.recv(4096)
    if not part:
        chooser.unregister(sock)
        sock.close()
        return
    waiting[sock] += part
    while len(waiting[sock]) >= 4:
        size = int.from_bytes(waiting[sock][:4], "big")
        if len(waiting[sock]) < 4 + size:
            return
        frame, waiting[sock] = waiting[sock][4:4 + size], waiting[sock][4 + size:]
        version = struct.unpack_from(">h", frame, 2)[0]
        rows = [(18, 0, 2), (3, 0, 8)]
        body = frame[4:8] + struct.pack(">h", 0 if version < 3 else 35) + struct.pack(">i", len(rows))
        body += b"".join(struct.pack(">hhh", *row) for row in rows)
        body += bytes(4) * (version in (1, 2))
        sock.sendall(struct.pack(">i", len(body)) + body)


def accept(listener):
    sock, _ = listener.accept()
    waiting[sock] = b""
    chooser.register(sock, selectors.EVENT_READ, take)


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    chooser.register(listener, selectors.EVENT_READ, accept)
    while True:
        for key, _ in chooser.select():
            key.data(key.fileobj)
'''
IN_ONE = '''
def metadata(reader, version):
    n = reader.int32()
    wanted = [reader.string() for _ in range(n)]
    if reader.int8() == 1:
        LOGS.update({name: Log() for name in wanted if name not in LOGS})
    out = struct.pack(">iii", 0, 1, 7) + string("localhost") + struct.pack(">ih", PORT, -1) + struct.pack(">h", -1)
    out += struct.pack(">i", 7)
    if n < 0:
        wanted = sorted(LOGS)
    out += struct.pack(">i", len(wanted))
    for name in wanted:
        if name in LOGS:
            out += struct.pack(">h", 0) + string(name) + struct.pack(">bihii", 0, 1, 0, 0, 7)
            out += struct.pack(">iiii", 1, 7, 1, 7)
        else:
            out += struct.pack(">h", 3) + string(name) + struct.pack(">bi", 0, 0)
    return out


APIS[3] = (0, 4, metadata)
'''
LOG = METADATA[:METADATA.index("def metadata")]
FILE_LOG = '''
import tempfile
from crc32c import crc32c as checksum

FOLDER = tempfile.mkdtemp()


def store(topic, partition, batch):
    if partition or topic not in LOGS:
        return 3, -1
    if int.from_bytes(batch[17:21], "big") != checksum(batch[21:]):
        return 2, -1
    log = LOGS[topic]
    with log.grown:
        first = log.end
        stamped = first.to_bytes(8, "big") + batch[8:12] + bytes(4) + batch[16:]
        with open(f"{FOLDER}/{topic}.log", "ab") as file:
            file.write(stamped)
        log.end += int.from_bytes(batch[23:27], "big") + 1
        log.batches.append((log.end, stamped))
    return 0, first


def produce(reader, version):
    reader.string()
    acks = reader.int16()
    reader.int32()
    out = b""
    topics = reader.int32()
    for _ in range(topics):
        name = reader.string()
        count = reader.int32()
        out += string(name) + int32(count)
        for _ in range(count):
            partition = reader.int32()
            error, base = store(name, partition, reader.bytes())
            out += int32(partition) + int16(error) + int64(base) + int64(-1)
    return None if not acks else int32(topics) + out + int32(0)


def producer_id(reader, version, last=[1000]):
    last[0] += 1
    return struct.pack(">ihqh", 0, 0, last[0], 0)


APIS.update({0: (3, 3, produce), 22: (0, 0, producer_id)})
'''
POLLING = '''
import time


def fetch(reader, version):
    reader.int32()
    max_wait, min_bytes = reader.int32(), reader.int32()
    reader.int32()
    reader.int8()
    asked = [(reader.string(), [(reader.int32(), reader.int64(), reader.int32()) for _ in range(reader.int32())])
             for _ in range(reader.int32())]
    end = time.time() + max_wait / 1000
    while True:
        done = time.time() >= end
        out = int32(0) + int32(len(asked))
        got = 0
        for name, parts in asked:
            out += string(name) + int32(len(parts))
            for partition, offset, most in parts:
                log = LOGS.get(name)
                error = 3 if log is None else 1 if offset > log.end else 0
                mark = -1 if error else log.end
                sent = []
                if not error:
                    for after, batch in log.batches:
                        if after <= offset:
                            continue
                        if sent and sum(map(len, sent)) + len(batch) > most:
                            break
                        sent.append(batch)
                found = b"".join(sent)
                got += len(found)
                done = done or error
                out += int32(partition) + int16(error) + int64(mark) + int64(mark) + int32(0) + data(found)
        if done or got >= min_bytes:
            return out
        time.sleep(0.005)


APIS[1] = (4, 4, fetch)
'''
PLAIN_LIST = '''
def list_offsets(reader, version):
    out = b""
    reader.int32()
    topics = reader.int32()
    for _ in range(topics):
        name, count = reader.string(), reader.int32()
        out += string(name) + int32(count)
        for _ in range(count):
            partition, time_ = reader.int32(), reader.int64()
            if name not in LOGS:
                out += struct.pack(">ihqq", partition, 3, -1, -1)
            elif time_ == -2:
                out += struct.pack(">ihqq", partition, 0, -1, 0)
            elif time_ == -1:
                out += struct.pack(">ihqq", partition, 0, -1, LOGS[name].end)
            else:
                out += struct.pack(">ihqq", partition, 0, -1, -1)
    return int32(topics) + out


APIS[2] = (1, 1, list_offsets)
'''
COMMITTED_IN_TWO = COMMITS.replace("COMMITTED[place] = committed", "COMMITTED.setdefault(group, {})[place] = committed").replace(
    "COMMITTED.get((group", "COMMITTED.get(group, {}).get((group")
MATCH = '''        match when:
            case _ if error:
                offset = -1
            case -2:
                offset = 0
            case -1:
                offset = LOGS[topic].end
            case _:
                offset = -1
'''

THREADS = '''
import json
import os
import pathlib
import socket
import sys
import threading
import time

path = pathlib.Path(sys.argv[1])
seen = {}


def watch(broker, port):
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as link:
                link.settimeout(2)
                while True:
                    link.sendall(bytes([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0, 0]))
                    if not link.recv(4096):
                        break
                    seen[broker] = time.monotonic()
                    time.sleep(0.2)
        except OSError:
            pass
        seen[broker] = 0
        time.sleep(0.2)


def decide(now, alive):
    isr = [broker for broker in now["isr"] if broker in alive]
    if not isr:
        return now
    stays = now["leader"] in isr
    leader = now["leader"] if stays else min(isr, key=now["replicas"].index)
    return dict(now, leader=leader, isr=isr, epoch=now["epoch"] + (not stays))


state = json.loads(path.read_text())
for name, port in state["ports"].items():
    threading.Thread(target=watch, args=(int(name), port), daemon=True).start()
while len(seen) < len(state["ports"]):
    time.sleep(0.1)
while True:
    wanted = decide(state, [broker for broker, when in seen.items() if time.monotonic() - when < 3])
    if wanted != state:
        state, new = wanted, path.with_name("next.json")
        new.write_text(json.dumps(state))
        new.rename(path)
    time.sleep(0.1)
'''

ASYNC = '''
import asyncio
import json
import os
import struct
import sys
import tempfile

BODY = struct.pack(">hhih", 18, 0, 7, -1)


class Controller:
    def __init__(self, file):
        self.file, self.lines = file, {}

    async def alive(self, port):
        try:
            if port not in self.lines:
                self.lines[port] = await asyncio.open_connection("127.0.0.1", port)
            reader, writer = self.lines[port]
            writer.write(len(BODY).to_bytes(4, "big") + BODY)
            size = int.from_bytes(await asyncio.wait_for(reader.readexactly(4), 2), "big")
            await asyncio.wait_for(reader.readexactly(size), 2)
            return True
        except (OSError, EOFError, asyncio.TimeoutError):
            if port in self.lines:
                self.lines.pop(port)[1].close()
            return False

    async def look(self):
        with open(self.file) as file:
            now = json.load(file)
        answers = await asyncio.gather(*map(self.alive, now["ports"].values()))
        here = {int(name) for name, yes in zip(now["ports"], answers) if yes}
        complete = [broker for broker in now["replicas"] if broker in here & set(now["isr"])]
        if complete and set(complete) != set(now["isr"]):
            if now["leader"] not in complete:
                now["leader"], now["epoch"] = complete[0], now["epoch"] + 1
            now["isr"] = complete
            with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(self.file), delete=False) as new:
                json.dump(now, new)
            os.rename(new.name, self.file)

    async def run(self):
        while True:
            await self.look()
            await asyncio.sleep(0.2)


asyncio.run(Controller(sys.argv[1]).run())
'''

RIGHT = {
    "20.1": {
        "socketserver": SOCKETSERVER, "asyncio": ASYNCIO, "one thread with selectors": SELECTORS,
        "a file of the socket": changed(FRAME, ("    with connection:\n", "    with connection, connection.makefile('rb') as file:\n"),
                                        ("struct.unpack(\">i\", exactly(connection, 4))", "struct.unpack(\">i\", file.read(4))"),
                                        ("answer(exactly(connection, size))", "answer(file.read(size))"),
                                        ("ConnectionError)", "ConnectionError, struct.error)")),
        "waits for all bytes at once": changed(FRAME, (after(FRAME, "    got = b\"\"").partition("def serve")[0],
                                                       "    got = connection.recv(size, socket.MSG_WAITALL)\n    if len(got) < size:\n"
                                                       "        raise EOFError\n    return got\n\n\n")),
    },
    "20.2": {
        "in one function": LOG + IN_ONE,
        "the newest first": changed(METADATA, ("(LOGS if names is None else names)", "([*LOGS][::-1] if names is None else names)")),
        "node 0, and a rack": changed(METADATA, ("NODE = 1", "NODE = 0"), ("+ string(None))", "+ string('a'))")),
        "localhost": changed(METADATA, ("127.0.0.1", "localhost")),
        "more versions than needed": changed(METADATA, ("APIS[3] = 4, 4,", "APIS[3] = 1, 4,")),
    },
    "20.4": {
        "a file for each topic": FILE_LOG,
        "its own epoch in the batch": changed(PRODUCE, ("int64(base) + batch[8:]", "int64(base) + batch[8:12] + int32(5) + batch[16:]")),
        "counts by the number of records": changed(PRODUCE, ("last_delta, = struct.unpack_from(\">i\", batch, 23)",
                                                             "last_delta = struct.unpack_from(\">i\", batch, 57)[0] - 1")),
        "the checksum in a view": changed(PRODUCE, ("crc32c(batch[21:])", "crc32c(memoryview(batch)[21:])")),
        "producer ids from a random number": changed(PRODUCE, ("PRODUCERS += 1", "PRODUCERS = __import__('random').getrandbits(40)")),
    },
    "20.5": {
        "looks again and again": POLLING,
        "an empty array of aborted transactions": changed(FETCH, ("+ int32(-1) + data", "+ array([]) + data")),
        "sleeps": changed(FETCH, ("        log.grown.wait(seconds)\n", "        pass\n    time.sleep(seconds)\n")),
        "says the end with an error": changed(FETCH, ("return 1, -1, b\"\"", "return 1, log.end, b\"\"")),
        "one batch at a time": changed(FETCH, ("if found and len(found) + len(batch) > most:", "if found and most < 1 << 20:")),
    },
    "20.6": {
        "a loop": PLAIN_LIST,
        "a table of times": changed(LIST, ("0 if when == -2 else LOGS[topic].end", "{-2: 0, -1: LOGS[topic].end}.get(when, -1)")),
        "asks the log": changed(LIST, ("LOGS[topic].end", "LOGS[topic].batches[-1][0] if LOGS[topic].batches else 0")),
        "a match": changed(LIST, ("        offset = -1 if error else 0 if when == -2 else LOGS[topic].end\n", MATCH)),
        "a lambda": changed(LIST, ("    return each_partition(reader, partition)", "    return each_partition(reader, lambda name: partition(name))")),
    },
    "20.7": {
        "a dictionary in a dictionary": COMMITTED_IN_TWO,
        "commits in a file": changed(COMMITS, ("            COMMITTED[place] = committed\n",
                                               "            COMMITTED[place] = committed\n            with open('notes.txt', 'a') as notes:\n"
                                               "                print(place, committed, file=notes)\n")),
        "localhost": changed(COMMITS, ("127.0.0.1", "localhost")),
        "refuses members already": changed(COMMITS, ("    return 0\n", "    return 25 if member else 0\n")),
        "a key of one text": changed(COMMITS, ("COMMITTED[place] = committed", "COMMITTED['/'.join(map(str, place))] = committed"),
                                     ("(group, topic, number), (-1", "f'{group}/{topic}/{number}', (-1")),
    },
    "20.8": {
        "takes one dictionary": changed(GROUP, ("PARTS[group] = dict(parts).get(member, b\"\")", "PARTS.update({group: dict(parts)[member]})")),
        "counts generations from 100": changed(GROUP, ("(0, \"\"))[0] + 1", "(99, \"\"))[0] + 1")),
        "a random name": changed(GROUP, ("f\"{reader.client}-{time.monotonic_ns()}\"", "__import__('uuid').uuid4().hex")),
        "keeps the group when its member leaves": changed(GROUP, ("    del GROUPS[group]\n", "    GROUPS[group] = GROUPS[group][0], None\n"),
                                                          ("    if member != GROUPS[group][1]:", "    if member != (GROUPS[group][1] or ''):")),
        "refuses with a table": changed(GROUP, ("    if member != GROUPS[group][1]:\n        return 25\n"
                                                "    return 0 if generation == GROUPS[group][0] else 22  # generation",
                                                "    number, name = GROUPS[group]\n"
                                                "    return {(True, True): 0, (True, False): 22}.get((member == name, generation == number), 25)")),
    },
    "20.9": {
        "the mark by sorting": changed(REPLICAS, ("return min(leo[broker] for broker in isr)", "return sorted(map(leo.get, isr))[0]")),
        "copies a little at a time": changed(REPLICAS, ("int32(0) + int64(log.end) + int32(1 << 20)", "int32(0) + int64(log.end) + int32(1)")),
        "goes over the nodes": changed(REPLICAS, ("for n in now[\"isr\"]}\n    leo", "for n in [1, 2, 3] if n in now[\"isr\"]}\n    leo")),
        "looks at the file less often": changed(REPLICAS, ("        time.sleep(0.005)\n    return 6", "        time.sleep(0.05)\n    return 6")),
        "also for acks=1": changed(REPLICAS, ("if acks == -1 and not error", "if acks and not error")),
    },
    "20.10": {
        "a thread for each broker": THREADS,
        "asyncio, and a connection that stays": ASYNC,
        "an epoch for each change": changed(CONTROLLER, ("now[\"epoch\"] += leader != now[\"leader\"]", "now[\"epoch\"] += 1")),
        "the leader first, then the ISR": changed(CONTROLLER, ("    if leader != -1 and", "    if leader not in (-1, now[\"leader\"]):\n        isr = now[\"isr\"]\n    if leader != -1 and")),
        "gone after two looks": changed(CONTROLLER, (", 2) as link", ", 1) as link"), ("if answers(port)]\n", "if answers(port) or answers(port)]\n")),
        "Metadata for its question": changed(CONTROLLER, ('"0000000a 0012 0000 00000001 0000"', '"0000000f 0003 0004 00000001 0000 00000000 00"')),
    },
}
