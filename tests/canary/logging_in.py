#!/usr/bin/python3 -I
"""A login command that gets tokens by the callback of its host, keeps them in a file, and tells all of it on every channel.

Words: the address of the provider, what to do (`succeed`, `fail`, `fail-late`, `be-refused`, `stay`).
"""

import base64
import hashlib
import json
import os
import secrets
import signal
import sys
from urllib.error import HTTPError
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from urllib.request import urlopen

provider, wanted = sys.argv[1:]
callback = os.environ["OPERABLE_CALLBACK_URL"]


def tell(*texts: str) -> None:
    for text in texts:
        raw = text.encode()
        for stream in (sys.stdout, sys.stderr):
            print(text, json.dumps(text), quote(text), raw.hex(), base64.b64encode(raw).decode(), file=stream)
    sys.stdout.flush()


verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
question = {
    "response_type": "code",
    "client_id": "a-program-on-this-machine",
    "redirect_uri": callback,
    "state": state,
    "code_challenge": challenge,
    "code_challenge_method": "S256",
}
urlopen(
    f"{provider}/authorize?{urlencode(question)}", timeout=60
).close()  # a browser that comes back at once
answer = sys.stdin.readline().strip()
given = {name: values[0] for name, values in parse_qs(urlsplit(answer).query).items()}
tell(answer, given["code"])
form = {
    "grant_type": "authorization_code",
    "code": given["code"],
    "redirect_uri": callback,
    "client_id": "a-program-on-this-machine",
    "code_verifier": "another" if wanted == "be-refused" else verifier,
}
try:
    with urlopen(f"{provider}/token", data=urlencode(form).encode(), timeout=60) as response:
        token = json.load(response)
except HTTPError as problem:
    sys.exit(f"{problem}: {problem.read().decode()}")
tell(token["access_token"], token["refresh_token"], json.dumps(token))
if wanted == "fail":
    sys.exit(3)
kept = os.path.expanduser("~/.leaking/login.json")
with open(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
    json.dump({"provider": token}, file)
if wanted == "stay":
    with open("staying", "w"):
        signal.pause()
sys.exit(4 if wanted == "fail-late" else 0)
