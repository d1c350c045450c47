"""A Temporal server behind TLS, with client certificates and an API key, as its providers have it."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import needs
from tests.cli.drive import operable
from tests.engine.manifests import task
from tests.engine.temporal import TemporalServer
from tests.engine.worker.engines import Engine

pytestmark = [pytest.mark.needs("temporal"), pytest.mark.needs("node")]
KEY = "cAn4ry-5e2b-api-key"
FRONT = Path(__file__).parents[1] / "tls_front.mjs"


@dataclass(frozen=True)
class Front:
    """`environment` is what a worker needs to come through it."""

    queue: str
    environment: dict[str, str]
    stranger: Path  # a certificate that nothing trusts, and its key beside it


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("tls")
    server, client, stranger = (certificate(folder / name) for name in ("server", "client", "stranger"))
    with TemporalServer.started() as behind:
        port = behind.address.rpartition(":")[2]
        words: list[str | Path] = [
            needs.path_of("node"),
            FRONT,
            port,
            server,
            server.with_suffix(".key"),
            client,
            KEY,
        ]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield Front(
                    f"temporal://127.0.0.1:{int(process.stdout.readline())}/default",
                    {
                        "TEMPORAL_API_KEY": KEY,
                        "TEMPORAL_TLS_SERVER_CA_CERT_PATH": str(server),
                        "TEMPORAL_TLS_SERVER_NAME": "localhost",
                        "TEMPORAL_TLS_CLIENT_CERT_PATH": str(client),
                        "TEMPORAL_TLS_CLIENT_KEY_PATH": str(client.with_suffix(".key")),
                    },
                    stranger,
                )
            finally:
                process.kill()


def certificate(path: Path) -> Path:
    """A certificate of itself for localhost; its key is beside it."""
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    extensions = ("subjectAltName=DNS:localhost,IP:127.0.0.1", "basicConstraints=critical,CA:FALSE")
    more = [word for extension in extensions for word in ("-addext", extension)]
    files = ["-keyout", str(path.with_suffix(".key")), "-out", str(path.with_suffix(".pem"))]
    subprocess.run([*words.split(), *more, *files], check=True, capture_output=True, timeout=60)
    return path.with_suffix(".pem")


def test_a_worker_comes_through_with_its_certificate_and_key_and_tasks_see_neither(
    tmp_path: Path, front: Front
) -> None:
    see = task("see", "sh", "-c", "env | grep -c TEMPORAL || true")
    engine = Engine(tmp_path, see, queue=front.queue, environment=front.environment)
    run = engine.trigger("see")
    engine.call("start", "--until-idle")
    assert (engine.state(run), engine.outputs(run)) == ("succeeded", ["0\n"])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"TEMPORAL_API_KEY": f"{KEY}x"}, ("authn", "QUEUE_REFUSED", 77)),
        ({"TEMPORAL_API_KEY": "", "TEMPORAL_TLS": "true"}, ("authn", "QUEUE_REFUSED", 77)),
        ({"TEMPORAL_TLS_SERVER_CA_CERT_PATH": "STRANGER"}, ("config", "QUEUE_NOT_TRUSTED", 78)),
        ({"TEMPORAL_TLS_SERVER_NAME": "elsewhere.example"}, ("config", "QUEUE_NOT_TRUSTED", 78)),
        (
            {"TEMPORAL_TLS_CLIENT_CERT_PATH": "STRANGER", "TEMPORAL_TLS_CLIENT_KEY_PATH": "STRANGER_KEY"},
            ("temporary", "QUEUE_UNAVAILABLE", 75),
        ),
        ({"TEMPORAL_TLS_CLIENT_KEY_PATH": "/nowhere.key"}, ("config", "QUEUE_SETTINGS", 78)),
    ],
    ids=["wrong key", "no key", "authority", "name", "client", "file"],
)
def test_what_does_not_come_through_is_refused_by_name_before_anything_is_written(
    tmp_path: Path, front: Front, change: dict[str, str], expected: tuple[str, str, int]
) -> None:
    stranger = {"STRANGER": str(front.stranger), "STRANGER_KEY": str(front.stranger.with_suffix(".key"))}
    change = {name: stranger.get(value, value) for name, value in change.items()}
    engine = Engine(tmp_path, task("a"), queue=front.queue, environment=front.environment | change)
    done = operable("engine", "start", "--until-idle", env=engine.environment, cwd=tmp_path)
    assert (done.error["category"], done.error["code"], done.exit_code) == expected, done
    assert done.error["hint"]
    assert KEY not in done.stdout.decode() + done.stderr
    assert not (tmp_path / "home" / "state" / "engine" / "engine.db").exists()


def test_a_server_that_wants_tls_and_a_worker_without_it(tmp_path: Path, front: Front) -> None:
    engine = Engine(tmp_path, task("a"), queue=front.queue)
    done = operable("engine", "start", "--until-idle", env=engine.environment, cwd=tmp_path)
    assert (done.error["code"], done.exit_code) == ("QUEUE_UNAVAILABLE", 75), done
    assert "TEMPORAL_TLS" in done.error["hint"]
