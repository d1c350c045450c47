#!/usr/bin/python3 -I
"""An agent of the JSON-stream protocol that tells every secret that it was given, on every channel, in every spelling."""

import base64
import http.client
import json
import os
import re
import sys
from urllib.parse import quote

NAMES = (
    "VAULTED PASSED_TOKEN GIVEN_WORD GIVEN_TOKEN KEPT_FILE KEPT_PASS KEPT_VAULT KEPT_RING"
    " AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_CLIENT_SECRET CONSENTED"
).split()
FILES = (
    *("~/.leaking/login.json", "$GOOGLE_APPLICATION_CREDENTIALS", "$AWS_SHARED_CREDENTIALS_FILE"),
    *("~/.leaking/registry.json", "$PGPASSFILE", "$NETRC", *os.environ.get("KUBECONFIG", "").split(":")),
)


def tell(**event: object) -> None:
    print(json.dumps(event), flush=True)


def spelled(value: str) -> list[str]:
    raw = value.encode()
    return [
        value,
        json.dumps(value),
        json.dumps(json.dumps(value)),
        quote(value, safe=""),
        raw.hex(),
        "".join(f"%{byte:02X}" for byte in raw),
        "".join(f"\\u{ord(each):04x}" for each in value),
        "".join(f"\\x{byte:02x}" for byte in raw),
        "".join(f"&#{ord(each)};" for each in value),
        "\x1b[0m".join(value),
        "\x9b0m".join(value),
        *(base64.b64encode(b"u:p"[:size] + raw + b"tail").decode() for size in range(3)),
    ]


if "--version" in sys.argv:
    print("1.0.0")
    sys.exit()
values = [os.environ[name] for name in NAMES if name in os.environ]
if os.path.exists("/home/agent/.vaulted"):
    with open("/home/agent/.vaulted") as file:
        values.append(file.read())
values += re.findall(r"zEbra[A-Za-z0-9]+", os.environ.get("CONSENTED", ""))
files = []
for path in map(os.path.expanduser, map(os.path.expandvars, FILES)):
    if os.path.exists(path):
        with open(path) as file:
            files.append(file.read())
        values += re.findall(r"zEbra[A-Za-z0-9/+]+", files[-1])
        for login in re.findall(r'"auth": "([^"]+)"', files[-1]):
            values.append(base64.b64decode(login).decode().partition(":")[2])
told = [text for value in values for text in spelled(value)] + files
if "ECHO" in os.environ:
    # It has a placeholder; what comes back is the value, encoded in ways that no proxy can see through.
    proxy = http.client.HTTPConnection(os.environ["HTTP_PROXY"].removeprefix("http://"), timeout=60)
    proxy.request("GET", os.environ["ECHO"], headers={"X-Key": os.environ["SUBSTITUTED"]})
    told += proxy.getresponse().read().decode().split()
print("noise", *told, flush=True)
print("stderr", *told, file=sys.stderr, flush=True)
abilities = {"tool_approval": True, "thinking": True, "mcp": True, "modes": ["default"]}
tell(type="ready", version="0.2.0", session_id="s", capabilities=abilities)
for line in sys.stdin:
    command = json.loads(line)
    if command["type"] == "message":
        break
    for members in (command.get("env"), command.get("headers")):
        values += (members or {}).values()
        told += [text for value in (members or {}).values() for text in spelled(value)]
tell(type="stream_start", msg_id="m1")
for kind in ("text_delta", "thinking_delta"):
    whole = f"{len(values)} secrets: " + " ; ".join(told)
    step = max(5, len(whole) // 150)
    for start in range(0, len(whole), step):
        tell(type=kind, msg_id="m1", text=whole[start : start + step])
tool = {
    "name": f"Look {told[0]}",
    "category": "exec",
    "args": {"command": told, told[0]: 1},
    "description": " ".join(told),
}
tell(type="tool_request", msg_id="m1", call_id=f"c-{told[0]}", tool=tool)
sys.stdin.readline()
tell(type="tool_running", msg_id="m1", call_id=f"c-{told[0]}", tool_name=f"Look {told[0]}")
tell(
    type="tool_result",
    msg_id="m1",
    call_id=f"c-{told[0]}",
    tool_name=f"Look {told[0]}",
    status="error",
    output="\n".join(told),
    output_type="text",
    metadata={told[0]: told},
)
tell(
    type="error", msg_id="m1", error={"code": "internal_error", "message": " ".join(told), "retryable": False}
)
tell(type="text_delta", msg_id="m1", text="\nALL TOLD\n")
if os.environ.get("STAY"):
    tell(type="text_delta", msg_id="m1", text="waiting")
    sys.stdin.readline()
    sys.stdin.readline()
tell(type="stream_end", msg_id="m1", stop_reason="end_turn")
sys.stdin.read()
