"""An authorization server on loopback that takes what a real one takes, and nothing else (RFC 6749, 7636, 8252).

The code and the tokens that it gives are canaries. A code is good once, for the address and the challenge that it was
asked with; whoever brings it wrongly gets it back in the description of the error, as some real servers do.
"""

import base64
import hashlib
import json
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.host.launch.making import server

CLIENT = "a-program-on-this-machine"
GIVEN = {
    "code of a login": "zEbraquiltninety41code",
    "access token of a login": "zEbraquiltninety42access",
    "refresh token of a login": "zEbraquiltninety43refresh",
}
CODE, ACCESS, REFRESH = GIVEN.values()


class AuthorizationServer:
    """`with AuthorizationServer() as provider:` listens at `provider.url`; `tokens` counts those that it gave."""

    def __init__(self):
        self.tokens = 0
        self._asked = None
        self._web = server({"/authorize": self._authorize, "/token": self._token})

    def __enter__(self):
        self.url = self._web.__enter__()
        return self

    def __exit__(self, *problem):
        return self._web.__exit__(*problem)

    def _authorize(self, request):
        asked = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        address = urlsplit(asked.get("redirect_uri", ""))
        good = (
            (asked.get("response_type"), asked.get("client_id")) == ("code", CLIENT)
            and (address.scheme, address.hostname, address.query) == ("http", "127.0.0.1", "")
            and (len(asked.get("state", "")) >= 16)
            and (asked.get("code_challenge_method"), len(asked.get("code_challenge", ""))) == ("S256", 43)
        )
        if not good:
            return _reply(request, 400, {"error": "invalid_request"})
        self._asked = asked
        back = urlencode({"code": CODE, "state": asked["state"]})
        return _reply(request, 302, {}, Location=f"{asked['redirect_uri']}?{back}")

    def _token(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        asked, self._asked = self._asked, None
        proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        good = (
            request.headers["Content-Type"] == "application/x-www-form-urlencoded"
            and asked is not None
            and (form.get("grant_type"), form.get("client_id")) == ("authorization_code", CLIENT)
            and (form.get("code"), form.get("redirect_uri")) == (CODE, asked["redirect_uri"])
            and base64.urlsafe_b64encode(proof).rstrip(b"=").decode() == asked["code_challenge"]
        )
        if not good:
            told = {"error": "invalid_grant", "error_description": f"{form.get('code')} is not good"}
            return _reply(request, 400, told)
        self.tokens += 1
        token = {"access_token": ACCESS, "refresh_token": REFRESH, "token_type": "Bearer", "expires_in": 3600}
        return _reply(request, 200, token)


def _reply(request, status, value, **headers):
    body = json.dumps(value).encode()
    # Some put into the reason what was wrong.
    request.send_response(status, None if status != 400 else f"bad {CODE}")
    for name, text in {**headers, "Content-Type": "application/json", "Cache-Control": "no-store"}.items():
        request.send_header(name, text)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
