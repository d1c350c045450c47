"""An sshd for whoever runs it, on loopback, with keys of its own: for tests, and for a room of the linter.

The configuration that a client needs is beside them: which key, and which host is known.
"""

import argparse
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TIMEOUT = 60


def server_program() -> str | None:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def user() -> pwd.struct_passwd:
    """Who logs in. As root, sshd wants more than a room of the linter gives: then it is another user with a shell."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    return next(each for each in pwd.getpwall() if each.pw_uid and each.pw_shell.endswith("sh"))


def prepared(folder: Path, port: int) -> list[str]:
    """Keys of the server and of a client, and the configuration of both; gives the command line of the server."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True, timeout=_TIMEOUT)
    host = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host}\n")
    (folder / "config").write_text(
        f"Host 127.0.0.1\n  User {user().pw_name}\n  UserKnownHostsFile {folder}/known_hosts\n"
        f"  GlobalKnownHostsFile /dev/null\n  IdentitiesOnly yes\n  IdentityFile {folder}/user\n"
    )
    # In place of a home: commands begin in the folder above.
    begins = f"cd '{folder.parent}' && eval \"$SSH_ORIGINAL_COMMAND\""
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        f"PidFile none\nStrictModes no\nUsePAM yes\nPasswordAuthentication no\nForceCommand {begins}\n"
    )
    program = server_program()
    assert program is not None
    who = user()
    as_other = ["unshare", "--user", f"--map-user={who.pw_uid}", f"--map-group={who.pw_gid}"]
    return [*(as_other if os.geteuid() == 0 else []), program, "-D", "-e", "-f", str(folder / "sshd_config")]


@contextmanager
def serving(folder: Path, port: int) -> Iterator[None]:
    words = prepared(folder, port)
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as server:
        try:
            _wait(port)
            yield
        finally:
            server.terminate()


def _wait(port: int) -> None:
    import socket

    until = time.monotonic() + _TIMEOUT
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(port)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    with serving(Path.cwd() / "server", port):
        print("ready", flush=True)
        while True:
            time.sleep(_TIMEOUT)


if __name__ == "__main__":
    main()
