"""A small internet, to be run in network and mount namespaces of its own: a name server, a public host, a private one.

Prints one JSON document: what a task with `network: restricted` got of each address, what the name server was asked, and
how often somebody came to the private host.
"""

import http.server
import json
import os
import socket
import struct
import subprocess
import sys
import threading

from operable.flow.run.caller import Caller
from operable.flow.run.executor import execute
from tests.flow.manifests import manifest, shell_task

PUBLIC, PRIVATE = "93.184.215.14", "127.0.0.1"
NAMES = {
    "public.example": [[PUBLIC]],
    "inside.example": [[PRIVATE]],
    "both.example": [[PRIVATE, PUBLIC]],
    "moves.example": [[PUBLIC], [PRIVATE]],  # the second answer, and every later one
}
TRIED = (
    "http://public.example/",
    "http://both.example/",
    "http://moves.example/",
    "http://moves.example/",
    "http://inside.example/",
    "http://localhost/",
    "http://localhost./",
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    f"http://{PUBLIC}/",
    "http://public.example:8080/",
    *(
        f"http://public.example/to/{place}"
        for place in ("inside.example", "localhost", "127.0.0.1", "moves.example")
    ),
)
TASK = """
import json, os, sys, urllib.error, urllib.request
os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://127.0.0.1:3128"}))
found = []
for address in sys.argv[1:]:
    try:
        found.append(opener.open(address, timeout=60).read().decode())
    except urllib.error.HTTPError as problem:
        found.append(f"refused {problem.code}")
    except OSError as problem:
        found.append(type(problem).__name__)
print(json.dumps(found))
"""
asked: list[str] = []
visits: list[str] = []


def answer_names(server: socket.socket) -> None:
    while True:
        data, client = server.recvfrom(512)
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        (kind,) = struct.unpack(">H", data[at + 1 : at + 3])
        name = ".".join(labels)
        found: list[str] = []
        if kind == 1:
            asked.append(name)
            answers = NAMES.get(name, [[]])
            found = answers[min(asked.count(name), len(answers)) - 1]
        head = data[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0)
        records = b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(each) for each in found
        )
        server.sendto(head + data[12 : at + 5] + records, client)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        place = str(self.connection.getsockname()[0])
        visits.append(place)
        _, redirect, target = self.path.partition("/to/")
        self.send_response(302 if redirect else 200)
        if redirect:
            self.send_header("Location", f"http://{target}/")
        self.end_headers()
        self.wfile.write(place.encode())

    def log_message(self, *_words: object) -> None:
        pass


def serve(place: str, port: int) -> None:
    server = http.server.ThreadingHTTPServer((place, port), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main(folder: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{PUBLIC}/32", "dev", "lo"], check=True)
    resolver = os.path.join(folder, "resolv.conf")
    with open(resolver, "w", encoding="ascii") as file:
        file.write("nameserver 127.0.0.1\n")
    subprocess.run(["mount", "--bind", resolver, os.path.realpath("/etc/resolv.conf")], check=True)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 53))
    threading.Thread(target=answer_names, args=(names,), daemon=True).start()
    serve(PUBLIC, 80)
    serve(PUBLIC, 8080)
    serve(PRIVATE, 80)
    shell = {"program": sys.executable, "args": ["-c", TASK, *TRIED]}
    value = manifest(shell_task(shell=shell, contract={"network": "restricted"}))
    environment = {"PATH": os.environ["PATH"], "HOME": folder}
    done = execute(value, "a", Caller(folder, environment, os.path.join(folder, "home")))
    result = done["result"]
    got = json.loads(result["stdout"]) if result["exit_code"] == 0 else [result["stderr"]]
    print(
        json.dumps(
            {"got": list(zip(TRIED, got, strict=False)), "asked": asked, "private": visits.count(PRIVATE)}
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
