"""What says that it changes nothing runs nothing of a hostile manifest, asks no server and writes no file.

The operations are those that declare themselves read-only, and the dry runs of all others; an operation that is not in
a table here fails the test, so that a new one is tried too.
"""

import json
import os

import pytest

from operable.cli.agentcli.words import verbs
from operable.flow.operation import Defaults, listed_methods
from operable.flow.rpc.protocol import answer_to
from tests.cli import forks
from tests.cli.drive import BIN, operable
from tests.flow import hostile as hostility
from tests.flow.callers import PATH
from tests.flow.hostile import trap

AGENTCLI = str(BIN / "operable-agentcli")
# Many processes, and some of them evaluate policies.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def hostile(tmp_path):
    with trap(tmp_path) as made:
        (tmp_path / "work").mkdir()
        (tmp_path / "user").mkdir()
        (tmp_path / "work" / "flow.json").write_text(json.dumps(made.manifest))
        yield made


def environment(hostile):
    user, home = hostile.folder / "user", hostile.folder / "home"
    own = {"PATH": PATH, "HOME": str(user), "USER": "me", "HOSTNAME": "h", "AGENTCLI_HOME": str(home)}
    return own | hostility.environment(hostile.manifest)


def contents(hostile):
    """Every file below the folder, with when it changed."""
    return {
        os.path.join(folder, name): os.lstat(os.path.join(folder, name)).st_mtime_ns
        for folder, below, names in os.walk(hostile.folder)
        for name in [*below, *names]
    }


class Client:
    def __init__(self, hostile):
        self._defaults = Defaults(
            str(hostile.folder / "work"), environment(hostile), str(hostile.folder / "home")
        )

    def __call__(self, name, /, **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}
        faults: list[BaseException] = []
        answer = json.loads(answer_to(json.dumps(request).encode(), self._defaults, faults.append) or b"{}")
        assert faults == []
        return answer


OF_TASKS = {
    "agentcli.identity.resolve",
    "agentcli.identity.validateDelegation",
    "agentcli.authorization.evaluate",
    "agentcli.authorizationProof.verify",
}
# Names of what they are asked about; the rest gets everything that a method may take.
FURTHER = {
    "provider": "opa",
    "method": "jwt",
    "name": "x",
    "topic": "manifest",
    "limit": 1,
    "target": "operable",
    "prune": True,
    "explain": True,
}


def test_no_method_of_the_protocol_runs_asks_or_writes_unless_it_says_that_it_changes_something(hostile):
    ask = Client(hostile)
    before = contents(hostile)
    for method in listed_methods():
        if method.changes:
            continue
        params = {name: value for name, value in FURTHER.items() if name in method.requested}
        params |= {"manifest": hostile.manifest, "manifests": [hostile.manifest]}
        for task in hostile.tasks if method.method in OF_TASKS else [None]:
            answer = ask(method.method, **params, **({"taskId": task} if task else {}))
            assert "result" in answer or "error" in answer
            assert hostile.caught() == [], f"{method.method} {task or ''}"
    assert contents(hostile) == before


def test_what_changes_something_is_listed_and_its_dry_run_changes_nothing(hostile):
    changing = {method.method for method in listed_methods() if method.changes}
    assert changing == {f"agentcli.{name}" for name in ("apply", "import", "registry.add", "registry.remove")}
    before = contents(hostile)

    answer = Client(hostile)("agentcli.apply", manifest=hostile.manifest, target="operable", dryRun=True)

    assert answer["error"]["data"]["code"] in ("authorization_proof_failed", "network_not_allowed")
    assert hostile.caught() == []
    assert contents(hostile) == before


def test_a_dry_run_asks_no_server_for_keys_unless_it_may(hostile):
    workflow = hostile.manifest["workflows"][0]
    workflow["tasks"] = [task for task in workflow["tasks"] if task["id"] == "jwt-network"]
    for name, params in (("apply", {"dryRun": True}), ("plan", {})):
        asked = {"manifest": hostile.manifest, "target": "operable", **params}
        refused = Client(hostile)(f"agentcli.{name}", **asked)
        assert refused["error"]["data"] == {
            "code": "network_not_allowed",
            "error_type": "validation_error",
            "allow": "allowNetwork",
        }
        assert hostile.caught() == []
        Client(hostile)(f"agentcli.{name}", **asked, allowNetwork=True)
        assert hostile.caught() == ["TLS"]
        hostile.secure.count = 0


def test_the_trap_springs_for_who_allows_it(hostile):
    """Else the tests above would say nothing."""
    ask, sprung = Client(hostile), set()
    for name in sorted(OF_TASKS):
        for task in hostile.tasks:
            before = hostile.caught()
            ask(name, manifest=hostile.manifest, taskId=task, allowCommands=True, allowNetwork=True)
            if hostile.caught() != before:
                sprung.add(task)
    # Rego has no http.send here; an authority is asked only after its certificate; evidence is made by executions.
    assert set(hostile.tasks) - sprung - {f"{task}__on_failure" for task in hostile.tasks} <= {
        "opa-send",
        "evidence",
    }


@pytest.mark.parametrize("name", sorted(OF_TASKS))
@pytest.mark.parametrize("allowed", [1, "yes", {}])
def test_what_allows_is_true_and_nothing_that_only_looks_like_it(hostile, name, allowed):
    for param in ("allowCommands", "allowNetwork"):
        answer = Client(hostile)(name, manifest=hostile.manifest, taskId="variable", **{param: allowed})
        assert answer["error"]["message"] == f"{param} must be a boolean"
    assert hostile.caught() == []


# -- operable flow: what each command is asked. Commands about one task are asked about the tasks of ASKED.

ASKED = ("variable", "optional", "client-network", "jwt-command", "opa-network", "topaz-command")
FILE = "flow.json"
READ_ONLY: dict[str, list[list[str]]] = {
    "approvals": [[]],
    "audit": [[], ["verify"]],
    "authorization": [["evaluate", FILE, task] for task in ASKED],
    "authorization-proof": [["verify", FILE, task] for task in ASKED],
    "capabilities": [[]],
    "compile": [[FILE]],
    "convert": [[FILE]],
    "describe": [[]],
    "digests": [[FILE]],
    "evidence": [[]],
    "graph": [[FILE]],
    "identity": [[action, FILE, task] for action in ("resolve", "validate-delegation") for task in ASKED],
    "inspect": [["jobs"]],
    "lint": [[FILE]],
    "merge": [[FILE, FILE]],
    "paths": [[]],
    "plan": [[FILE]],
    "registry": [[]],
    "schema": [[]],
    "signing": [[]],
    "skill-path": [[]],
    "targets": [[]],
    "validate": [[FILE]],
    "verify": [["nothing"]],
    "version": [[]],
    "whoami": [[FILE, task] for task in ASKED],
}
DRY_RUNS: dict[str, list[str]] = {
    "apply": [FILE],
    "approve": [FILE, "variable", "--signer", "none"],
    "exec": [FILE, "variable"],
    "import": ["."],
    "init": ["new.json"],
    "prune": [FILE],
    "register": ["name", FILE],
    "revoke": ["0" * 32],
    "run": [FILE, "--all-roots"],
    "unregister": ["name"],
}


def flow_commands():
    (event,) = operable("capabilities").of("discovery_document")
    return {
        command["name"].removeprefix("flow "): command["read_only"]
        for command in event["content"]["commands"]
        if command["name"].startswith("flow ")
    }


def test_no_command_of_operable_flow_that_says_it_changes_nothing_runs_asks_or_writes(hostile):
    declared = flow_commands()
    assert {name for name, read_only in declared.items() if read_only} == set(READ_ONLY)
    assert {name for name, read_only in declared.items() if not read_only} == set(DRY_RUNS)
    tried = [[name, *words] for name, cases in READ_ONLY.items() for words in cases]
    tried += [[name, *words, "--dry-run"] for name, words in DRY_RUNS.items()]
    before = contents(hostile)
    for words in tried:
        done = operable("flow", *words, env=environment(hostile), cwd=hostile.folder / "work")
        assert "Traceback" not in done.stderr, words
        assert hostile.caught() == [], words
        assert contents(hostile) == before, words


@pytest.mark.parametrize(
    "words, option",
    [
        (["whoami", FILE, "variable"], "--allow-commands"),
        (["identity", "resolve", FILE, "client-network", "--workflow", "w"], "--allow-network"),
        (["identity", "validate-delegation", FILE, "file"], "--allow-commands"),
        (["authorization", "evaluate", FILE, "topaz-command"], "--allow-commands"),
        (["authorization-proof", "verify", FILE, "jwt-network"], "--allow-network"),
    ],
)
def test_a_refused_question_names_the_command_line_that_allows_it(hostile, words, option):
    def ask(words):
        return operable("flow", *words, env=environment(hostile), cwd=hostile.folder / "work")

    refused = ask(words)
    assert (refused.error["category"], refused.error["code"]) == ("authz", "FLOW_NOT_ALLOWED")
    assert refused.error["hint"].endswith(option)
    assert hostile.caught() == []

    ask(refused.error["hint"].split()[2:])
    assert hostile.caught() != []


# -- operable-agentcli: the same for its verbs.

CHANGING = {
    "apply",
    "approve",
    "approvals revoke",
    "exec",
    "run",
    "registry add",
    "registry remove",
    "import",
    "serve",
    "init",
}
WORDS = {
    "identity schema": ["opa"],
    "authorization-proof schema": ["jwt"],
    "authorization schema": ["opa"],
    "evidence schema": ["ssh"],
    "verify": ["nothing"],
    "registry show": ["nothing"],
    "validate": [FILE],
    "compile": [FILE],
    "convert": [FILE],
    "merge": [FILE, FILE],
}  # fmt: skip


def test_no_verb_of_operable_agentcli_that_only_asks_runs_asks_or_writes(hostile):
    of_tasks = {name for name, verb in verbs().items() if "allow-commands" in verb.flags}
    tried = [[*name.split(), FILE, task] for name in sorted(of_tasks) for task in ASKED[:3]]
    tried += [
        [*name.split(), *WORDS.get(name, [])]
        for name in verbs()
        if name not in CHANGING and name not in of_tasks
    ]
    tried += [["exec", FILE, "variable", "--dry-run"], ["run", FILE, "--all-roots", "--dry-run"]]
    before = contents(hostile)
    for words in tried:
        done = forks.run(
            [AGENTCLI, *words],
            env=forks.at_start(os.environ) | environment(hostile),
            cwd=str(hostile.folder / "work"),
            input=b"",
            timeout=200,
            program=forks.AGENTCLI,
        )
        assert b"Traceback" not in done.stderr, words
        assert hostile.caught() == [], words
        assert contents(hostile) == before, words
