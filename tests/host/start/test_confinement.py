"""From a sandbox block to a running agent: what is refused before, what holds while it runs, what is gone after it."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from operable.host.start.confinement import ConfinedAgent, ConfinementRequest, confine, provider
from operable.host.start.vault import Actor, SecretUse, Vault
from operable.kernel.errors import Fail
from operable.manifest.blocks import SandboxBlock
from operable.proc.run import CommandOutput, aoutput, output
from operable.proc.sandbox.egress.budget import Attempt
from operable.proc.sandbox.egress.tls import Authority
from operable.proc.spawn import prepare
from tests.host.inventory import inventory
from tests.requirement import requirement

BWRAP = pytest.mark.needs("bwrap")
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
VALUE = "sk-hunter2-hunter2"
WORKSPACE = {"source": "workspace", "at": "/workspace"}


def wanted(
    workspace: Path, provider: str = "bubblewrap", *, block: dict[str, Any] | None = None, **options
) -> ConfinementRequest:
    described = {"provider": provider, "config": {}, "mounts": [WORKSPACE]} | (block or {})
    options.setdefault("programs", (sys.base_prefix,))
    return ConfinementRequest(msgspec.convert(described, SandboxBlock), str(workspace), **options)


def run(place: ConfinedAgent, code: str, *arguments: str, **options) -> CommandOutput:
    return output(place.wrap(prepare([PYTHON, "-I", "-S", "-c", code, *arguments], **options)), timeout=200)


def vault(uses: list[SecretUse], *exposures: dict[str, Any]) -> Vault:
    entries = inventory({"slug": "api-key", "exposures": list(exposures)})
    return Vault(entries, Actor("ada", owner=True), on_use=uses.append)


@BWRAP
def test_an_agent_works_in_its_workspace_with_a_home_and_a_name_of_its_own(tmp_path: Path):
    with confine(wanted(tmp_path)) as place:
        code = "import os, pwd; print(os.getcwd(), os.path.expanduser('~'), pwd.getpwuid(os.getuid()).pw_name); open('made', 'w')"
        told = run(place, code)

    assert told.stdout.decode().split() == ["/workspace", "/home/agent", "agent"]
    assert (tmp_path / "made").exists()
    assert place.cwd == "/workspace"


@BWRAP
def test_a_home_that_is_kept_holds_the_agents_login(tmp_path: Path):
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for _ in range(2):
        with confine(wanted(work, home=str(home))) as place:
            run(place, "import os; open(os.environ['HOME'] + '/.login', 'a').write('x')")

    assert (home / ".login").read_text() == "xx"


@requirement("aip-substrate:4.6:mounts-only")
@BWRAP
def test_a_read_only_mount_and_a_part_of_the_workspace(tmp_path: Path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a").write_text("text")
    mounts = [
        {"source": "workspace", "at": "/w", "mode": "read-only"},
        {"source": {"file": "docs"}, "at": "/docs"},
    ]
    with confine(wanted(tmp_path, block={"mounts": mounts})) as place:
        code = "open('/docs/b', 'w').write(open('/docs/a').read())\ntry: open('/w/c', 'w')\nexcept OSError as e: print(e.errno)"
        told = run(place, code)
        inside = run(place, "import os; print(os.getcwd())", cwd=tmp_path / "docs")

    assert told.stdout == b"30\n"  # EROFS
    assert (tmp_path / "docs" / "b").read_text() == "text"
    assert inside.stdout == b"/docs\n"


@requirement(
    "aip-substrate:4.6:provider-unknown", "aip-substrate:4.6:read-only", "aip-substrate:4.6:mounts-only"
)
@pytest.mark.parametrize(
    "block, code",
    [
        ({"provider": "castle"}, "SANDBOX_PROVIDER_UNKNOWN"),
        ({"read_only": True}, "SANDBOX_READ_ONLY"),
        ({"mounts": [{"source": {"file": "../x"}, "at": "/x"}]}, "SANDBOX_MOUNT_OUTSIDE"),
        ({"mounts": [{"source": {"file": "absent"}, "at": "/x"}]}, "SANDBOX_MOUNT_MISSING"),
        ({"mounts": [{"source": {"ref": "storage"}, "at": "/x"}]}, "SANDBOX_MOUNT_UNSUPPORTED"),
        ({"mounts": [{"source": "workspace", "at": "/usr/lib"}]}, "SANDBOX_MOUNT_INVALID"),
        ({"mounts": [{"source": "workspace", "at": "/"}]}, "SANDBOX_MOUNT_INVALID"),
        ({"network": {"egress": ["http://x"]}}, "EGRESS_INVALID"),
    ],
)
@BWRAP
def test_what_cannot_be_is_refused_and_leaves_nothing(tmp_path: Path, monkeypatch, block, code):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Fail) as caught:
        confine(wanted(work, block=block))

    assert caught.value.code == code
    assert os.listdir(tmp_path) == ["work"]


@requirement("aip-substrate:4.6:local-trusted")
def test_local_is_for_trusted_manifests_and_says_what_it_leaves_open(tmp_path: Path):
    with pytest.raises(Fail) as caught:
        confine(wanted(tmp_path, "local"))
    assert caught.value.code == "SANDBOX_UNTRUSTED"

    with confine(
        wanted(tmp_path, "local", trusted=True, block={"network": {"egress": ["example.com"]}})
    ) as place:
        told = run(place, "import os; print(os.getcwd())")

    assert told.stdout.decode().strip() == str(tmp_path)
    open_items = {item.item for item in place.enforcement if item.outcome == "unconfined"}
    assert {"files", "network.egress"} <= open_items


@requirement("aip45:security:env-isolation")
@pytest.mark.parametrize("name", ["local", "node-permission"])
@pytest.mark.parametrize("options", [{"auth": True}, {"secrets": ("api-key",)}])
def test_providers_that_do_not_isolate_the_environment_refuse_auth(tmp_path: Path, name, options):
    with pytest.raises(Fail) as caught:
        confine(wanted(tmp_path, name, trusted=True, **options))

    assert caught.value.code == "SANDBOX_ENV_NOT_ISOLATED"


def test_an_auth_block_inside_the_sandbox_counts_too(tmp_path: Path):
    with pytest.raises(Fail, match="must not be used with auth"):
        confine(wanted(tmp_path, "local", trusted=True, block={"env": {"auth": {"ref": "SECRETS.md"}}}))


def test_an_operator_can_accept_in_so_many_words_that_others_read_the_environment(
    tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("API_KEY", VALUE)
    uses: list[SecretUse] = []
    with confine(
        wanted(
            tmp_path, "local", trusted=True, vault=vault(uses), secrets=("api-key",), accept_shared_env=True
        )
    ) as place:
        told = run(place, "import os; print(os.environ['API_KEY'])")

    assert told.stdout.decode().strip() == VALUE
    assert VALUE in place.known


@requirement(
    "aip45:auth:never-argv-never-logs",
    "aip45:auth:resolved-from-secrets",
    "aip-substrate:4.8:exposures",
    "aip-substrate:4.8:never-shown",
)
@BWRAP
def test_a_secret_reaches_the_agent_as_variable_and_file_and_nothing_stays(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("API_KEY", VALUE)
    monkeypatch.setenv("HOST_TOKEN", "ambient")
    uses: list[SecretUse] = []
    exposures = [{"kind": "env", "name": "TOKEN"}, {"kind": "file", "path": "~/.config/token"}]
    place = confine(wanted(tmp_path, auth=True, vault=vault(uses, *exposures), secrets=("api-key",)))
    code = (
        "import os; path = os.path.expanduser('~/.config/token')\n"
        "print(os.environ['TOKEN'], open(path).read(), oct(os.stat(path).st_mode)[-3:], 'HOST_TOKEN' in os.environ)"
    )
    told = run(place, code)
    assert VALUE not in " ".join(place.wrap(prepare([PYTHON])).argv)
    folder = place._folder
    place.close()
    place.close()

    assert told.stdout.decode().split() == [VALUE, VALUE, "600", "False"]
    assert folder is not None
    assert not os.path.exists(folder)
    assert [use.action for use in uses] == ["secret.reveal"]
    assert VALUE not in repr(place)
    with pytest.raises(ValueError, match="closed"):
        place.wrap(prepare(["true"]))


@BWRAP
def test_only_named_variables_of_the_host_are_passed_through(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("WANTED", "yes")
    monkeypatch.setenv("UNWANTED", "no")
    with confine(wanted(tmp_path, block={"env": {"passthrough": ["WANTED", "ABSENT"]}})) as place:
        told = run(place, "import os; print(os.environ.get('WANTED'), os.environ.get('UNWANTED'))")

    assert told.stdout == b"yes None\n"


@BWRAP
def test_a_program_outside_the_sandbox_is_named_before_it_is_started(tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    with confine(wanted(work)) as place, pytest.raises(Fail) as caught:
        place.wrap(prepare([str(program)]))
    assert caught.value.code == "SANDBOX_PROGRAM_HIDDEN"

    with confine(wanted(work, programs=(str(program),))) as place:
        assert output(place.wrap(prepare([str(program)]))).stdout == b"hello\n"


@BWRAP
@pytest.mark.parametrize("folder", ["~", "/", "/tmp", "/etc", "/home"])
def test_a_folder_of_programs_that_shows_a_home_is_refused(tmp_path: Path, folder: str):
    with pytest.raises(Fail) as caught:
        confine(wanted(tmp_path, programs=(os.path.expanduser(folder),)))

    assert caught.value.code == "SANDBOX_PROGRAM_TOO_WIDE"


@BWRAP
def test_a_working_directory_outside_the_mounts_is_refused(tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    with confine(wanted(work)) as place, pytest.raises(Fail) as caught:
        place.wrap(prepare(["true"], cwd=tmp_path))
    assert caught.value.code == "SANDBOX_CWD_HIDDEN"


@BWRAP
def test_limits_are_reported_and_the_timeout_is_handed_on(tmp_path: Path):
    block = {
        "limits": {"timeout_ms": 1500, "memory_mb": 300, "cpu_ms": 9000},
        "lifecycle": {"destroy_on": "x"},
    }
    with confine(wanted(tmp_path, block=block)) as place:
        told = {item.item: item.outcome for item in place.enforcement}
        assert run(place, "print('runs')").stdout == b"runs\n"

    assert place.timeout == 1.5
    assert told["limits.pids"] in ("enforced", "unconfined")
    assert told["limits.memory_mb"] in ("enforced", "narrowed")
    assert told["lifecycle"] == "unconfined"


# A client that knows nothing of us but the variables that every client reads.
CLIENT = """
import http.client, os, sys
host, port = os.environ["HTTP_PROXY"].removeprefix("http://").split(":")
for target in sys.argv[1:]:
    connection = http.client.HTTPConnection(host, int(port), timeout=200)
    connection.request("GET", target, headers={"Authorization": "Bearer " + os.environ["API_KEY"]})
    answer = connection.getresponse()
    print(answer.status, answer.read().decode())
print(os.environ["API_KEY"], os.path.exists(os.environ["SSL_CERT_FILE"]))
"""


@requirement("aip-substrate:4.6:egress-default", "aip-substrate:4.8:exposures")
@BWRAP
def test_an_agent_with_a_placeholder_reaches_its_host_with_the_secret_and_no_other(
    tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("API_KEY", VALUE)
    uses: list[SecretUse] = []
    attempts: list[Attempt] = []
    got: list[bytes] = []

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async def scene() -> CommandOutput:
        server = await asyncio.start_server(service, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        exposure = {
            "kind": "egress-substitute",
            "placeholderName": "K",
            "intendedProviders": [f"127.0.0.1:{port}"],
        }
        block = {"network": {"egress": [f"127.0.0.1:{port}", f"localhost:{port}"]}}
        asked = wanted(
            tmp_path,
            block=block,
            vault=vault(uses, exposure),
            secrets=("api-key",),
            on_attempt=attempts.append,
        )
        with confine(asked) as place:
            targets = [f"http://127.0.0.1:{port}/a", f"http://localhost:{port}/b", "http://evil.example/c"]
            command = place.wrap(prepare([PYTHON, "-I", "-S", "-c", CLIENT, *targets]))
            told = await aoutput(command, timeout=200)
            assert VALUE in place.known  # since it was put into a request
            assert VALUE in place.withheld  # the agent itself must not have it
        server.close()
        return told

    told = asyncio.run(asyncio.wait_for(scene(), 200))

    lines = told.stdout.decode().splitlines()
    assert lines[0] == "200 hello"
    assert "secret-not-for-host" in told.stdout.decode()
    assert "not-listed" in told.stdout.decode()
    assert lines[-1] == "$$SECRET[K]$$ True"
    assert len(got) == 1
    assert f"Bearer {VALUE}".encode() in got[0]
    assert [attempt.reason for attempt in attempts] == ["allowed", "secret-not-for-host", "not-listed"]
    assert [(use.action, use.purpose) for use in uses] == [("secret.reveal", "egress")]
    assert VALUE.encode() not in told.stdout


SECURE_CLIENT = """
import os, ssl, urllib.request
opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({"https": os.environ["HTTPS_PROXY"]}),
    urllib.request.HTTPSHandler(context=ssl.create_default_context()),
)
asked = urllib.request.Request(os.environ["TARGET"], headers={"X-Key": os.environ["API_KEY"]})
print(opener.open(asked, timeout=200).read().decode())
"""


@BWRAP
def test_a_secret_is_put_inside_tls_for_a_client_that_knows_nothing_of_it(tmp_path: Path, monkeypatch):
    others = Authority(str(tmp_path))
    bundle = tmp_path / "others.pem"
    bundle.write_bytes(others.bundle())
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))  # what the proxy believes of the world
    monkeypatch.setenv("API_KEY", VALUE)
    work = tmp_path / "work"
    work.mkdir()
    uses: list[SecretUse] = []
    got: list[bytes] = []

    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async def scene() -> CommandOutput:
        server = await asyncio.start_server(service, "127.0.0.1", 0, ssl=others.context("localhost"))
        host = f"localhost:{server.sockets[0].getsockname()[1]}"
        exposure = {"kind": "egress-substitute", "placeholderName": "K", "intendedProviders": [host]}
        asked = wanted(
            work, block={"network": {"egress": [host]}}, vault=vault(uses, exposure), secrets=("api-key",)
        )
        with confine(asked) as place:
            env = {"TARGET": f"https://{host}/"}
            told = await aoutput(
                place.wrap(prepare([PYTHON, "-I", "-S", "-c", SECURE_CLIENT], env=env)), timeout=200
            )
        server.close()
        return told

    told = asyncio.run(asyncio.wait_for(scene(), 200))

    assert told.stdout == b"hello\n", told.stderr
    assert f"X-Key: {VALUE}".lower().encode() in got[0].lower()
    assert [use.purpose for use in uses] == ["egress"]


def test_names_of_the_standard_are_known():
    assert provider("bubblewrap").name == "bubblewrap"
    with pytest.raises(Fail) as caught:
        provider("mastra-castle")
    assert caught.value.code == "SANDBOX_PROVIDER_UNKNOWN"
