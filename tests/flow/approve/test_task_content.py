"""Approvals are for files too: what was edited after its approval does not run."""

import json
import os
from dataclasses import replace

import pytest

from operable.flow.approve import local_approvals
from operable.flow.approve.audit_trail import RecordedApprovals
from operable.flow.approve.eligibility import ApprovalRequest, usable
from operable.flow.canonical import canonical_digest
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from operable.flow.run.caller import bind, content_of, read_content
from operable.flow.run.executor import execute
from tests.flow.callers import ME, signing_caller
from tests.flow.executions import approve, refused
from tests.flow.manifests import manifest, prompt_task, shell_task
from tests.flow.ssh_keys import written
from tests.requirement import requirement

MANUAL = {"policy": "manual"}


def shell(program, *args, **members):
    return manifest(shell_task(shell={"program": program, "args": list(args), **members}, approval=MANUAL))


def write(folder, name, text, mode=0o755):
    path = folder / "work" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


SCRIPT = "#!/bin/sh\necho ran\n"
# How a task may name a file, and the file.
NAMED = {
    "program": (lambda: shell("./deploy.sh"), "deploy.sh"),
    "script of an interpreter": (lambda: shell("sh", "deploy.sh"), "deploy.sh"),
    "value of an option": (lambda: shell("true", "--config=deploy.sh"), "deploy.sh"),
    "list of an option": (lambda: shell("true", "--files", "x,deploy.sh"), "deploy.sh"),
    "file of arguments": (lambda: shell("true", "@deploy.sh"), "deploy.sh"),
    "word of a shell line": (lambda: shell("sh", "-c", "set -e; ./deploy.sh --now"), "deploy.sh"),
    "redirection": (lambda: shell("sh", "-c", "cat <deploy.sh"), "deploy.sh"),
    "quoted word": (lambda: shell("sh", "-c", '. "./deploy.sh"'), "deploy.sh"),
    "variable": (lambda: shell("true", env={"CONFIG": "deploy.sh"}), "deploy.sh"),
    "standard input": (lambda: shell("sh", stdin="./deploy.sh\n"), "deploy.sh"),
    "name with blanks": (lambda: shell("sh", "my deploy.sh"), "my deploy.sh"),
    "module": (lambda: shell("python3", "-m", "deploy"), "deploy.py"),
    "module of a package": (lambda: shell("sh", "-c", "python3 -B -um tools.deploy"), "tools/deploy.py"),
    "folder of an interpreter": (lambda: shell("python3", "."), "__main__.py"),
    "file of a runner": (lambda: shell("sh", "-c", "which make && make -s deploy"), "Makefile"),
}


def with_members(**members):
    return manifest(shell_task(shell={"program": "true"}, approval=MANUAL, **members))


NAMED |= {
    "verification": (lambda: with_members(verify={"shell": "./deploy.sh"}), "deploy.sh"),
    "allowed path": (lambda: with_members(contract={"allowed_paths": [".", "deploy.sh"]}), "deploy.sh"),
}


@requirement("agentcli:approvals:binding")
@pytest.mark.parametrize("how", NAMED)
def test_a_file_that_changed_after_its_approval_does_not_run_and_is_named(tmp_path, how):
    by = signing_caller(tmp_path)
    made, name = NAMED[how]
    path = write(tmp_path, name, SCRIPT)
    value = made()
    approval = approve(by, value)
    write(tmp_path, name, SCRIPT.replace("ran", "something else"))

    problem = refused(value, "a", by)
    assert (problem.flow_code, problem.details["changed"]) == ("approval_required", [str(path)])
    assert str(path) in problem.message
    write(tmp_path, name, SCRIPT)
    assert execute(value, "a", by)["approval_used"]["approval_id"] == approval["approval_id"]


@requirement("agentcli:approvals:binding")
def test_a_program_of_the_path_is_the_file_that_is_found_there(tmp_path):
    by = signing_caller(tmp_path)
    path = write(tmp_path, "bin/deploy", SCRIPT)
    value = shell("deploy", env={"PATH": f"{path.parent}:/usr/bin:/bin"})
    approve(by, value)
    write(tmp_path, "bin/deploy", SCRIPT + "\n")

    assert refused(value, "a", by).details["changed"] == [str(path)]


@requirement("agentcli:approvals:binding")
@pytest.mark.parametrize("change", ["removed", "appeared", "another target"])
def test_a_file_that_went_came_or_is_a_link_to_another_one_is_a_change(tmp_path, change):
    by = signing_caller(tmp_path)
    one, other = write(tmp_path, "one.sh", SCRIPT), write(tmp_path, "other.sh", SCRIPT + "\n")
    link = tmp_path / "work" / "deploy.sh"
    if change != "appeared":
        link.symlink_to(one)
    value = shell("sh", "-c", "./deploy.sh || true")
    approve(by, value)
    if change != "appeared":
        link.unlink()
    if change != "removed":
        link.symlink_to(other)

    assert refused(value, "a", by).details["changed"] == [str(link)]


@requirement("agentcli:approvals:binding")
def test_a_file_that_changes_between_the_gates_and_the_start_does_not_run(tmp_path):
    """The policy of the task is asked after its approval was looked at, and before it is used."""
    by = signing_caller(tmp_path)
    path = write(tmp_path, "deploy.sh", SCRIPT)
    profile = {
        "id": "i",
        "provider": "env-bearer",
        "auth": {"inputs": {"token": {"value_from": {"command": "echo 'echo x' > deploy.sh; echo token-x"}}}},
    }
    value = manifest(
        shell_task(shell={"program": "./deploy.sh"}, approval=MANUAL, identity={"ref": "i"}),
        identity_profiles=[profile],
    )
    approve(by, value)

    problem = refused(value, "a", by)
    assert (problem.flow_code, problem.details["changed"]) == ("approval_required", [str(path)])


@requirement("agentcli:approvals:tampering")
@pytest.mark.parametrize(
    "change",
    [lambda event: event.pop("content"), lambda event: event["content"].clear()],
    ids=["gone", "empty"],
)
def test_what_an_approval_says_of_files_is_signed_and_recorded(tmp_path, change):
    by = signing_caller(tmp_path)
    write(tmp_path, "deploy.sh", SCRIPT)
    value = shell("./deploy.sh")
    approve(by, value)
    path = by.approvals.path
    with open(path, encoding="utf-8") as file:
        event = json.load(file)
    change(event)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(event) + "\n")

    assert refused(value, "a", by).flow_code == "approval_signature_invalid"


@requirement("agentcli:approvals:binding")
def test_an_approval_that_names_no_files_is_for_none(tmp_path):
    """Other programs write such approvals."""
    by = signing_caller(tmp_path)
    selected = select(shell("true"), "a")
    bound = bind(selected, by)
    content = content_of(selected, bound, by)
    events = [
        {
            **dict.fromkeys(("signature", "reason", "risk_level", "approver_scope")),
            **selected.source,
            "kind": "grant",
            "approval_id": "foreign",
            "task_hash": bound.task_hash,
            "approver": ME,
            "granted_at": "2026-01-01T00:00:00Z",
            "expires_at": "2999-01-01T00:00:00Z",
            "unsigned_explicit": True,
        }
    ]
    trail = RecordedApprovals({"foreign": canonical_digest(events[0])})
    for files, message in ((content, "does not say which files"), ({}, None)):
        wanted = ApprovalRequest(selected, bound.binding, files, None, 1_800_000_000.0)
        if message is None:
            assert usable(events, lambda _: trail, wanted, by.believing())[0]["approval_id"] == "foreign"
            continue
        with pytest.raises(FlowError, match=message) as caught:
            usable(events, lambda _: trail, wanted, by.believing())
        assert caught.value.flow_code == "approval_required"


def test_the_digests_are_of_the_program_and_of_regular_files_only(tmp_path):
    by = signing_caller(tmp_path)
    write(tmp_path, "a", "x")
    os.mkfifo(tmp_path / "work" / "pipe")
    selected = select(shell("true", "a", "pipe", ".", "/nowhere", "/dev/zero", "x" * 5000, "a\0b"[:1]), "a")
    found = content_of(selected, bind(selected, by), by)

    assert [os.path.basename(path) for path in found] == ["true", "a"]
    assert found[str(tmp_path / "work" / "a")] == (
        "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    )


def test_prompts_name_no_files(tmp_path):
    by = signing_caller(tmp_path)
    selected = select(manifest(prompt_task("a", prompt="read flow.json")), "a")

    assert content_of(selected, bind(selected, by), by) == {by.cwd: "folder"}


@requirement("agentcli:approvals:binding")
@pytest.mark.parametrize("how", ["prompt", "contract"])
def test_an_approval_is_for_the_folder_that_the_task_is_run_in(tmp_path, how):
    """An agent works there, and relative paths of a contract are meant from there, wherever the program runs."""
    by, elsewhere = signing_caller(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()
    asked = {
        "prompt": prompt_task("a", prompt="remove what is here", approval=MANUAL),
        "contract": shell_task(
            shell={"program": "true", "cwd": str(elsewhere)},
            approval=MANUAL,
            contract={"allowed_paths": ["out", str(elsewhere)]},
        ),
    }
    value = manifest(asked[how])
    approve(by, value)

    problem = refused(value, "a", replace(by, cwd=str(tmp_path)))

    assert problem.flow_code == "approval_required"
    assert str(tmp_path) in problem.details["changed"]


SCOPED = manifest(
    shell_task(shell={"program": "true"}, approval={**MANUAL, "approver_scope": "domain:example.com"})
)


@requirement("agentcli:approvals:gate")
def test_a_scope_that_no_allowed_signer_proves_is_warned_about_when_it_is_approved_and_when_it_runs(tmp_path):
    by = signing_caller(tmp_path)
    task = select(SCOPED, "a").task
    (warning,) = local_approvals.scope_warnings(task, by.believing())
    assert warning.startswith(
        'approval.approver_scope "domain:example.com" is compared with a name that nothing'
    )
    approve(by, SCOPED)
    assert warning in execute(SCOPED, "a", by)["warnings"]

    allow(tmp_path, ME)
    approve(by, SCOPED)
    assert local_approvals.scope_warnings(task, by.believing()) == []
    assert not any("approver_scope" in text for text in execute(SCOPED, "a", by)["warnings"])


def allow(folder, name, key=None):
    """Name the signers of the home: one, with the caller's key or another one."""
    public = key or (folder / "user" / ".ssh" / "id_ed25519.pub").read_text().strip()
    place = folder / "home" / "state" / "allowed_signers"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{name} {public}\n")


# Who signs how, where allowed signers are configured: the name they have, the options, and what is said.
UNCOUNTED = {
    "unsigned": (ME, {"signer": "none"}, "it is not signed"),
    "another name": ("somebody@example.com", {}, f"do not give {ME} the key SHA256:"),
    "another key": (ME, {"key": "other"}, f"do not give {ME} the key SHA256:"),
}


@requirement("agentcli:approvals:gate")
@pytest.mark.parametrize("value", [SCOPED, shell("true")], ids=["scoped", "of anybody"])
@pytest.mark.parametrize("how", UNCOUNTED)
def test_an_approval_that_cannot_count_is_refused_when_it_is_given(tmp_path, how, value):
    by = signing_caller(tmp_path)
    name, options, said = UNCOUNTED[how]
    allow(tmp_path, name)
    if "key" in options:
        written(tmp_path, name="other")
        options = {"key": str(tmp_path / "other")}
    with pytest.raises(FlowError, match="The approval would not count: ") as caught:
        approve(by, value, **options)

    assert caught.value.flow_code == "approval_signature_invalid"
    assert said in caught.value.message
    assert by.approvals.events() == []


def test_a_refusal_speaks_of_the_newest_approval(tmp_path):
    by = signing_caller(tmp_path)
    path, value = write(tmp_path, "deploy.sh", SCRIPT), shell("./deploy.sh")
    approve(by, value)
    path.write_text(SCRIPT + "\n")
    newest = approve(by, value)
    path.write_text(SCRIPT + "\n\n")

    assert newest["approval_id"] in refused(value, "a", by).message


def test_a_task_without_a_scope_is_not_warned_about(tmp_path):
    by = signing_caller(tmp_path)

    assert local_approvals.scope_warnings(select(shell("true"), "a").task, by.believing()) == []


def audit_files(by):
    folder = os.path.dirname(by.place("audit"))
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("audit")]


@requirement("agentcli:approvals:tampering")
@pytest.mark.parametrize("how", ["removed", "emptied", "replaced"])
def test_a_log_without_the_use_of_a_used_approval_is_an_alarm(tmp_path, how):
    by = signing_caller(tmp_path)
    value = shell("true")
    used = approve(by, value)
    execute(value, "a", by)
    approve(by, value)
    for path in audit_files(by):
        if how == "emptied" and path == by.place("audit"):
            os.truncate(path, 0)
        elif how != "emptied" or path.endswith(".head"):
            os.unlink(path)
    if how == "replaced":
        execute(manifest(), "a", by)  # a new log, with records

    for work in (lambda: execute(value, "a", by), lambda: approve(by, value)):
        with pytest.raises(FlowError) as caught:
            work()
        assert caught.value.flow_code == "approval_log_invalid"
        assert caught.value.details["lost"] == [used["approval_id"]]
        assert "removed or replaced" in caught.value.message


# A shell line, and the file that it runs.
LINES = {
    "blank in quotes": ("'./my script.sh'", "my script.sh"),
    "escaped blank": (r"./my\ script.sh", "my script.sh"),
    "escape in a name": (r"./de\ploy.sh", "deploy.sh"),
    "quotes in a name": ('./"q".sh', "q.sh"),
    "at sign": ("./deploy@prod.sh now", "deploy@prod.sh"),
    "colon": ("sh ./a:b.sh", "a:b.sh"),
    "equals and comma": ("sh ./a=b,c.sh", "a=b,c.sh"),
    "folder": ("cd sub && ./x.sh", "sub/x.sh"),
    "folder in a folder": ("cd 'sub' && cd deep; ./x.sh", "sub/deep/x.sh"),
    "folder after an option": ("cd -- sub && ./x.sh", "sub/x.sh"),
    "folder of an option": ("env -C sub ./x.sh", "sub/x.sh"),
    "pattern": ("./g*.sh", "go.sh"),
    "pattern in a folder": ("cd sub; sh ./[g]?.sh", "sub/go.sh"),
    "home": ("sh ~/t.sh", "t.sh"),
    "variable that is known": ("sh $HOME/t.sh", "t.sh"),
    "braces": ("bash -c './{a,b}.sh'", "b.sh"),
    "line in a line": ("""sh -c "sh -c './my script.sh'" """, "my script.sh"),
    "substitution": ('echo "$(./my\\ script.sh)"', "my script.sh"),
    "backquotes": (r"echo `./my\ script.sh`", "my script.sh"),
    "after a comment": ("true # don't\n'./my script.sh'", "my script.sh"),
    "after a here-document": ("cat <<E\ndon't\nE\n'./my script.sh'", "my script.sh"),
    "continued": ("./de\\\nploy.sh", "deploy.sh"),
    "negated set": ("./[^x]eploy.sh", "deploy.sh"),
    "negated set of the standard": ("./[!x]eploy.sh", "deploy.sh"),
    "named set": ("./[[:alpha:]]eploy.sh", "deploy.sh"),
    "set with a bracket": ("./[]d]eploy.sh", "deploy.sh"),
    "set with a quoted bracket": ("./[a']'d]eploy.sh", "deploy.sh"),
    "collating element": ("./[[.d.]]eploy.sh", "deploy.sh"),
    "pattern of a hidden file": ("bash -O dotglob -c './*eploy.sh'", ".deploy.sh"),
    "pattern in braces": ("./{x,de}pl*.sh", "deploy.sh"),
    "pattern by bytes": ("./d??ploy.sh", "d\u00e9ploy.sh"),
    "options beside the line": ("sh -ce './depl*.sh'", "deploy.sh"),
    "options after the line's": ("sh -c -e './depl*.sh'", "deploy.sh"),
    "line of a trap": ("trap './depl*.sh' EXIT", "deploy.sh"),
    "options of cd": ("cd -LP sub && ./x.sh", "sub/x.sh"),
    "other options of cd": ("cd -eP -- sub && ./x.sh", "sub/x.sh"),
    "attached folder": ("env -Csub ./x.sh", "sub/x.sh"),
    "five folders": ("cd a && cd .. && cd b && cd .. && cd sub && ./x.sh", "sub/x.sh"),
    "folder after folder": ("cd a; cd ../b; cd ../c; cd ../d; cd ../sub; ./x.sh", "sub/x.sh"),
    "folder without a name": ("cd && ./t.sh", "t.sh"),
    "alias": ("alias d=./depl*.sh; d", "deploy.sh"),
    "program on the path": ("tool --now", "bin/tool"),
}


def credential(line):
    """The profile of an identity whose token a command prints."""
    inputs = {"token": {"value_from": {"command": line}}}
    return {"identity_profiles": [{"id": "i", "provider": "env-bearer", "auth": {"inputs": inputs}}]}


@requirement("agentcli:approvals:binding")
@pytest.mark.parametrize(
    "where", ["argument", "argument of a cluster", "input", "verification", "credential"]
)
@pytest.mark.parametrize("how", LINES)
def test_a_file_that_a_shell_line_names_in_any_spelling_is_bound(tmp_path, how, where):
    by = signing_caller(tmp_path)
    line, name = LINES[how]
    path = write(tmp_path, name, SCRIPT)
    work = tmp_path / "work"
    home = {"HOME": str(work), "PATH": f"{work}/bin:/usr/bin:/bin"}
    if where == "argument":
        value = shell("sh", "-c", line, env=home)
    elif where == "argument of a cluster":
        value = shell("sh", "-ce", line, env=home)
    elif where == "input":
        value = shell("sh", stdin=line, env=home)
    elif where == "credential":
        value = shell("true", env=home) | credential(line)
        value["workflows"][0]["tasks"][0]["identity"] = {"ref": "i"}
    else:
        value = manifest(
            shell_task(shell={"program": "true", "env": home}, approval=MANUAL, verify={"shell": line})
        )
    approve(by, value)
    write(tmp_path, name, SCRIPT + "echo evil\n")

    assert str(path) in refused(value, "a", by).details["changed"]


@requirement("agentcli:approvals:binding")
def test_a_new_match_of_a_pattern_is_a_change(tmp_path):
    by = signing_caller(tmp_path)
    write(tmp_path, "go.sh", SCRIPT)
    value = shell("sh", "-c", "for f in ./g*.sh; do sh $f; done")
    approve(by, value)
    new = write(tmp_path, "gone.sh", SCRIPT)

    assert refused(value, "a", by).details["changed"] == [str(new)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sh $SCRIPT", ["$SCRIPT"]),
        ('sh "${DIR}/x.sh" a', ['"${DIR}/x.sh"']),
        ("$(which deploy) now", ["$(…)"]),
        ("sh -c 'sh $1'", ["$1"]),
        ("X=ploy.sh; ./de$X", ["./de$X"]),
        ("~+/deploy.sh", ["~+/deploy.sh"]),
        ("X=~/deploy.sh", ["X=~/deploy.sh"]),
        ("./**/deploy.sh", ["./**/deploy.sh"]),
        ("./@(deploy|x).sh", ["./@"]),
        ("./deploy{1..3}.sh", ["./deploy{1..3}.sh"]),
        ("./'deploy.sh", ["./'deploy.sh"]),
        ("$'./de\\x70loy.sh'", ["$'./de\\x70loy.sh'"]),
        ("cd 2>/dev/null sub; ./x.sh", ["cd 2"]),
        ("PATH=bin; tool", ["PATH=bin"]),
        ("HOME=/x; ~/t.sh", ["HOME=/x"]),
        ("shopt -s extglob; ./x.sh", ["shopt"]),
        ("bash -O nocaseglob -c './DEP*.sh'", ["-O"]),
        ("fish -c ./deploy.sh", ["fish"]),
        ("sh -c -e './de$X'", ["./de$X"]),
        ("eval './de$X'", ["./de$X"]),
        ("eval ./de\\$X", ["./de\\$X", "./de$X"]),
        ("trap ./\\[d]eploy.sh EXIT", ["./\\[d]eploy.sh"]),
        ("eval cd 'sub;' ./x.sh", ["'sub;'"]),
        ("eval 'cd su'b './x.sh'", ["'cd su'b"]),
        ('eval "cd sub; ./x.sh"; sh -c "echo \\"hi\\"" a', []),
        ("set -euo pipefail; [ -f x ] && bash -euo pipefail -c './x.sh' || exit 2>&1", []),
        ("f() { ./deploy.sh; }; (cd sub && f) > out.txt", []),
        ('echo \'{"a": 1, "b": [2, 3]}\'', []),
        ("awk '{print $1}' list.txt; echo \\$HOME", []),
        ("./deploy.sh 'a b' \"c\"", []),
    ],
)
def test_words_that_only_the_running_shell_knows_are_told(tmp_path, line, words):
    by = signing_caller(tmp_path)
    value = shell("sh", "-c", line)
    selected = select(value, "a", None)
    bound = bind(selected, by)
    assert read_content(selected, bound, by).unbound == words


def words_of(tmp_path, value):
    by = signing_caller(tmp_path)
    selected = select(value, "a", None)
    return read_content(selected, bind(selected, by), by).unbound


# What starts a shell, and what of it is not understood.
STARTS = {
    "options beside the line": (["sh", "-ce", "./de$X"], ["./de$X"]),
    "options after it": (["sh", "-c", "-e", "./de$X"], ["./de$X"]),
    "another spelling": (["bash", "+B", "-xec", "./de$X"], ["./de$X"]),
    "unknown option": (["bash", "-O", "extglob", "-c", "./x.sh"], ["-O"]),
    "unknown mode": (["bash", "-o", "vi", "-c", "./x.sh"], ["-o vi"]),
    "another language": (["zsh", "-c", "./x.sh"], ["zsh"]),
    "attached line": (["su", "--command=./de$X"], ["--command=./de$X"]),
    "runner": (["env", "-S", "sh -c './de$X'"], ["./de$X"]),
    "shell of a runner": (["timeout", "5", "sh", "-ec", "./de$X"], ["./de$X"]),
    "giver": (["watch", "./de$X"], ["./de$X"]),
    "version": (["/opt/bash-5.2", "-c", "./de$X"], ["./de$X"]),
    "script and its arguments": (["sh", "deploy.sh", "$X"], []),
    "not a shell": (["awk", "{print $1}"], []),
}


@pytest.mark.parametrize("how", STARTS)
def test_every_way_to_give_a_line_to_a_shell_is_seen(tmp_path, how):
    argv, words = STARTS[how]
    assert words_of(tmp_path, shell(*argv)) == words


def test_a_shell_by_another_name_is_a_shell(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "runner").symlink_to("/bin/bash")
    assert words_of(tmp_path, shell("./runner", "-c", "./de$X")) == ["./de$X"]


@pytest.mark.parametrize("name", ["BASH_ENV", "CDPATH"])
def test_variables_that_change_how_a_shell_reads_are_told(tmp_path, name):
    assert words_of(tmp_path, shell("bash", "-c", "./x.sh", env={name: "x"})) == [name]


def test_more_folders_than_are_followed_are_told(tmp_path):
    line = "; ".join(f"cd {number}" for number in range(8)) + "; ./x.sh"
    told = words_of(tmp_path, shell("sh", "-c", line))
    assert told
    assert set(told) <= {f"cd {number}" for number in range(8)}


def test_words_of_commands_for_credentials_and_of_prompts_are_told(tmp_path):
    value = manifest(
        prompt_task("a", prompt="x", identity={"ref": "i"}, verify={"shell": "./v$X"}),
        **credential("./tok$X"),
    )
    assert words_of(tmp_path, value) == ["./v$X", "./tok$X"]


@requirement("agentcli:approvals:binding")
def test_the_program_of_a_credential_that_was_edited_after_the_approval_does_not_run(tmp_path):
    by = signing_caller(tmp_path)
    path = write(tmp_path, "tok.sh", "#!/bin/sh\necho token-x\n")
    value = shell("true") | credential("./tok.sh")
    value["workflows"][0]["tasks"][0]["identity"] = {"ref": "i"}
    approve(by, value)
    write(tmp_path, "tok.sh", "#!/bin/sh\ntouch pwned\necho token-x\n")

    assert refused(value, "a", by).details["changed"] == [str(path)]
    assert not (tmp_path / "work" / "pwned").exists()


def test_who_runs_a_task_with_unbound_words_is_warned(tmp_path):
    by = signing_caller(tmp_path)
    value = shell("sh", "-c", "true $SCRIPT")
    approve(by, value)
    assert [each for each in execute(value, "a", by)["warnings"] if "$SCRIPT" in each]


EXCHANGES = {
    "edited": "echo '# more' >> deploy.sh",
    "edited and restored": "cp -p deploy.sh kept; echo evil > deploy.sh; cat kept > deploy.sh; touch -r kept deploy.sh",
    "exchanged and back": "mv deploy.sh kept; echo evil > deploy.sh; mv kept deploy.sh",
    "gone": "rm deploy.sh",
}


@requirement("agentcli:approvals:binding")
@pytest.mark.parametrize("how", EXCHANGES)
@pytest.mark.parametrize("program", ["./deploy.sh", "sh"])
def test_a_program_that_is_touched_while_the_task_runs_makes_it_a_failure_that_is_recorded(
    tmp_path, program, how
):
    by = signing_caller(tmp_path)
    path = write(tmp_path, "deploy.sh", f"#!/bin/sh\n{EXCHANGES[how]}\nexit 0\n")
    value = shell(program, *(["-c", "./deploy.sh"] if program == "sh" else []))
    approve(by, value)

    problem = refused(value, "a", by)
    assert (problem.flow_code, problem.details["changed"]) == ("content_changed", [str(path)])
    with open(by.place("audit"), encoding="utf-8") as file:
        assert "content_changed" in file.read().splitlines()[-1]


def test_a_task_may_change_the_data_that_it_names(tmp_path):
    by = signing_caller(tmp_path)
    write(tmp_path, "list.txt", "one", 0o644)
    value = shell("sh", "-c", "echo two >> list.txt")
    approve(by, value)
    assert execute(value, "a", by)["ok"]


INTERPRETER = '#!/bin/sh\nsh "$1"\n'
BY_OTHER_NAMES = {
    "attached to an option": (("make", "-fbuild.mk"), "build.mk", "all:\n\t@:\n"),
    "module attached to an option": (("python3", "-mtool"), "tool.py", "pass\n"),
    "package of a module": (("python3", "-m", "pkg.tool"), "pkg/__init__.py", ""),
    "interpreter of a script": (("sh", "-c", "./run"), "interpreter", INTERPRETER),
    "interpreter behind env": (("sh", "-c", "./run-env"), "interpreter", INTERPRETER),
}


@requirement("agentcli:approvals:binding")
@pytest.mark.parametrize("how", BY_OTHER_NAMES)
def test_a_file_that_a_word_or_a_script_names_in_part_is_bound(tmp_path, how):
    by = signing_caller(tmp_path)
    command, name, text = BY_OTHER_NAMES[how]
    work = tmp_path / "work"
    write(tmp_path, "pkg/tool.py", "pass\n")
    write(tmp_path, "run", f"#!{work}/interpreter\n:\n")
    write(tmp_path, "run-env", "#!/usr/bin/env ./interpreter\n:\n")
    path = write(tmp_path, name, text)
    value = shell(*command)
    approve(by, value)
    path.write_text(f"{text}# other\n")

    assert refused(value, "a", by).details["changed"] == [str(path)]


@pytest.mark.parametrize(
    "command, words",
    [
        (("find", ".", "-name", "*.sh", "-exec", "sh", "{}", ";"), ["{}"]),
        (("sh", "-c", "find . -exec sh {} +"), ["{}"]),
        (("run-parts", "./d"), ["run-parts"]),
        (("sh", "-c", "ls d | xargs -n1 sh"), ["xargs"]),
        (("xargs", "-a", "list", "python3"), ["xargs"]),
        (("sh", "-c", "ls d | xargs rm"), []),
    ],
)
def test_files_that_a_program_finds_while_it_runs_are_told(tmp_path, command, words):
    assert words_of(tmp_path, shell(*command)) == words
