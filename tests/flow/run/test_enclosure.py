"""Contracts, held by the system."""

import os
import socket
import threading

import pytest

from operable.flow.errors import FlowError
from operable.flow.run.enclosure import check_paths, constraints, enclosed
from operable.flow.run.process import TaskResult, run_command
from operable.proc.spawn import prepare
from tests.flow.callers import PATH
from tests.requirement import requirement

pytestmark = pytest.mark.needs("bwrap")


def inside(contract, folder, script, *, home=None) -> TaskResult:
    env = {"PATH": PATH, "HOME": str(home or folder)}
    with enclosed(contract, cwd=str(folder), base=str(folder), environment=env) as place:
        command = prepare(["sh", "-c", script], env=env, cwd=str(folder))
        return run_command(place.wrap(command), timeout=60)


@requirement("agentcli:exec:sandbox-on-linux")
def test_strict_shows_the_system_and_the_own_folder_and_nothing_of_anybody(tmp_path):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    (home / "secret").write_text("mine")
    ran = inside(
        {"sandbox": "strict"},
        work,
        f"echo made > here; cat {home}/secret; ls {home}; touch /usr/x; true",
        home=home,
    )

    assert ran.exit_code == 0
    assert ran.stdout == ""
    assert (work / "here").read_text() == "made\n"
    assert (home / "secret").read_text() == "mine"
    assert not os.path.exists("/usr/x")


@requirement("agentcli:exec:sandbox-on-linux")
def test_only_allowed_paths_can_be_written(tmp_path):
    work, other, denied = (tmp_path / name for name in ("work", "other", "denied"))
    for folder in (work, other, denied):
        folder.mkdir()
    (denied / "file").write_text("readable elsewhere, hidden here")
    ran = inside(
        {"allowed_paths": [".", "../other"]},
        work,
        f"touch a ../other/b; touch {denied}/c; touch {tmp_path}/d; true",
    )

    assert ran.exit_code == 0
    assert [path.name for path in (*work.iterdir(), *other.iterdir())] == ["a", "b"]
    assert [path.name for path in denied.iterdir()] == ["file"]
    assert not (tmp_path / "d").exists()


@requirement("agentcli:exec:sandbox-on-linux")
@pytest.mark.parametrize("network", ["none", "restricted"])
def test_a_network_that_was_not_granted_cannot_be_reached(tmp_path, network):
    reached = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        port = server.getsockname()[1]

        def accept():
            try:
                server.accept()[0].close()
                reached.set()
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        ran = inside({"network": network}, tmp_path, f'python3 -c "{code}"')

        assert ran.exit_code not in (0, None)
        assert not reached.is_set()


def test_a_contract_about_the_network_alone_leaves_the_files_as_they_are(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    ran = inside({"network": "none"}, tmp_path, f"touch {other}/x")

    assert ran.exit_code == 0
    assert (other / "x").exists()


@pytest.mark.parametrize(
    "contract, wanted, outcome",
    [
        ({"network": "none"}, "not restricted", "unconfined"),
        ({"network": "none", "allowed_paths": ["/"]}, "not restricted", "unconfined"),
        ({"network": "none", "allowed_paths": ["."]}, "read-only except for mounts", "enforced"),
        ({"sandbox": "strict"}, "read-only except for mounts", "enforced"),
    ],
)
def test_the_report_says_first_whether_files_are_held(tmp_path, contract, wanted, outcome):
    with enclosed(contract, cwd=str(tmp_path), base=str(tmp_path), environment={}) as place:
        (files,) = [item for item in place.report if item["item"] == "files"]

    assert (files["wanted"], files["outcome"]) == (wanted, outcome)


def test_a_restricted_task_is_told_about_the_proxy(tmp_path):
    ran = inside({"network": "restricted"}, tmp_path, "echo $HTTPS_PROXY")

    assert ran.stdout == "http://127.0.0.1:3128\n"


def test_a_way_out_that_cannot_be_made_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("operable.proc.sandbox.egress.proxy.os.chmod", _denied)
    with pytest.raises(FlowError) as caught:
        inside({"network": "restricted"}, tmp_path, "true")

    assert caught.value.flow_code == "sandbox_enforcement_unavailable"
    assert "Permission denied" in caught.value.message


def _denied(*_arguments):
    raise PermissionError(13, "Permission denied")


def test_a_strict_task_leaves_no_file_with_setuid_or_setgid(tmp_path):
    """It left one that belonged to root."""
    script = "cp /bin/true program; chmod 4755 program; chmod u+s,g+s program; install -m 6755 /bin/true other; mkdir -m 2775 d"
    ran = inside({"sandbox": "strict"}, tmp_path, script, home="/nowhere")

    assert ran.stderr.count("Operation not permitted") >= 2, ran.stderr
    assert (tmp_path / "program").exists()
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o6000] == []


@pytest.mark.parametrize(
    ("contract", "outcome"),
    [
        ({"sandbox": "strict"}, "refused"),
        ({"sandbox": "strict", "allowed_paths": ["."]}, "refused"),
        ({"allowed_paths": ["."], "network": "none"}, "refused"),
        ({"network": "none"}, "refused"),
        ({"network": "restricted"}, "refused"),
        ({"sandbox": "strict", "allowed_paths": [".", "service"]}, "reached"),
        ({"allowed_paths": [".", "service"], "network": "restricted"}, "reached"),
    ],
)
def test_a_unix_socket_is_reached_only_where_an_allowed_path_names_one(
    tmp_path, monkeypatch, contract, outcome
):
    monkeypatch.chdir(tmp_path)  # a short name: the path of a socket has 108 bytes
    script = (
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"service\")' "
        "&& echo reached || echo refused"
    )
    with socket.socket(socket.AF_UNIX) as service:
        service.bind("service")
        service.listen()
        ran = inside(contract, tmp_path, script, home="/nowhere")

    assert ran.stdout == f"{outcome}\n", ran.stderr


def test_a_program_outside_of_the_system_is_visible_to_a_strict_task(tmp_path):
    tools, work = tmp_path / "tools", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    (tools / "hello.sh").write_text("#!/bin/sh\necho hello\nls -A $(dirname $0)\n")
    (tools / "hello.sh").chmod(0o700)
    (tools / "hello").symlink_to("hello.sh")
    (tools / "key").write_text("of somebody")
    env = {"PATH": PATH, "HOME": "/nowhere"}
    with enclosed({"sandbox": "strict"}, cwd=str(work), base=str(work), environment=env) as place:
        command = prepare([str(tools / "hello")], env=env, cwd=str(work))
        # The program and nothing that lies beside it: whoever names a program does not thereby open its folder.
        assert run_command(place.wrap(command), timeout=60).stdout == "hello\nhello\nhello.sh\n"
        told = {item["item"]: item for item in place.report}
        assert {item["outcome"] for item in place.report} == {"enforced", "unconfined"}
        # What nobody declared is in the report as well: it shares the network, the disk and the processor.
        open_ones = {name for name, item in told.items() if item["outcome"] == "unconfined"}
        assert open_ones == {
            *(
                "network",
                "processor time",
                "time",
                "disk space",
                "kernel objects",
                "facts of the machine",
                "kernel",
            )
        }
        assert "shares the host's network" in told["network"]["mechanism"]


@requirement("agentcli:exec:allowed-paths")
def test_a_link_out_of_the_allowed_paths_is_a_violation(tmp_path):
    (tmp_path / "allowed").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "allowed" / "link").symlink_to(tmp_path / "elsewhere")
    cwd = os.path.realpath(tmp_path / "allowed" / "link")
    with pytest.raises(FlowError) as caught:
        check_paths({"allowed_paths": ["allowed"]}, cwd, str(tmp_path))

    assert caught.value.flow_code == "contract_violation"
    assert caught.value.details["violations"][0]["field"] == "contract.allowed_paths"


@requirement("agentcli:exec:allowed-paths")
@pytest.mark.parametrize("path", ["link", "link/sub", "dangling", "absolute"])
def test_an_allowed_path_that_leads_through_a_link_is_refused_because_a_task_could_swing_it(tmp_path, path):
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nothing")
    named = str(tmp_path / "link" / "sub") if path == "absolute" else path
    for cwd in (tmp_path, tmp_path / "real", tmp_path / "real" / "sub"):
        with pytest.raises(FlowError) as caught:
            check_paths({"allowed_paths": [".", named]}, str(cwd), str(tmp_path))

        assert caught.value.flow_code == "sandbox_path_invalid"
        link = tmp_path / ("dangling" if path == "dangling" else "link")
        assert caught.value.message == (
            f"the allowed path {named} leads through the symbolic link {link}; name where it leads to"
        )


@requirement("agentcli:exec:allowed-paths")
@pytest.mark.parametrize("path", ["/proc", "/proc/sys/kernel", "/sys", "/sys/fs/cgroup", "/proc/../sys"])
def test_what_belongs_to_the_kernel_cannot_be_allowed(tmp_path, path):
    with pytest.raises(FlowError) as caught:
        check_paths({"allowed_paths": [".", path]}, str(tmp_path), str(tmp_path))

    assert caught.value.flow_code == "sandbox_path_invalid"
    assert caught.value.message == f"the allowed path {path} belongs to the kernel"


@requirement("agentcli:exec:allowed-paths")
@pytest.mark.parametrize("contract", [{"network": "none"}, {"sandbox": "strict"}])
def test_who_may_write_everywhere_still_has_processes_devices_and_services_of_its_own(tmp_path, contract):
    ran = inside(
        {"allowed_paths": ["/"], **contract},
        tmp_path,
        # Asked and not tried: the kernel has one of these for everybody.
        "touch here; test -w /proc/sys/kernel/core_pattern && echo writable; ls /proc | grep -c '^[0-9]*$'; ls /run",
    )

    assert (tmp_path / "here").exists()
    assert "writable" not in ran.stdout
    assert int(ran.stdout) < 10


@requirement("agentcli:exec:sandbox-on-linux")
def test_a_strict_task_is_not_given_everything_because_it_was_started_in_the_root():
    with pytest.raises(FlowError) as caught:
        inside({"sandbox": "strict"}, "/", "true", home="/nowhere")

    assert caught.value.flow_code == "sandbox_path_invalid"


@requirement("agentcli:exec:allowed-paths")
def test_links_of_the_caller_s_own_folder_and_of_the_system_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert check_paths({"allowed_paths": ["."]}, str(tmp_path / "real"), str(tmp_path / "link")) == []
    assert check_paths({"allowed_paths": ["/var/run"]}, os.path.realpath("/var/run"), str(tmp_path)) == []


@requirement("agentcli:exec:allowed-paths")
@pytest.mark.parametrize("swung", ["work", "other"])
def test_a_folder_that_becomes_a_link_after_the_check_is_not_opened_to_the_task(tmp_path, swung):
    for name in ("work", "other", "private"):
        (tmp_path / name).mkdir()
    env = {"PATH": PATH, "HOME": "/nowhere"}
    work = str(tmp_path / "work")
    with enclosed({"allowed_paths": [".", "../other"]}, cwd=work, base=work, environment=env) as place:
        (tmp_path / swung).rmdir()
        (tmp_path / swung).symlink_to("private")
        with pytest.raises(FlowError) as caught:
            place.wrap(prepare(["touch", f"{tmp_path}/{swung}/x"], env=env, cwd=work))

    assert caught.value.flow_code == "sandbox_path_invalid"


@requirement("agentcli:exec:allowed-paths")
def test_a_folder_that_becomes_a_link_after_the_last_check_is_not_opened_to_the_task_either(tmp_path):
    for name in ("work", "other", "private"):
        (tmp_path / name).mkdir()
    env = {"PATH": PATH, "HOME": "/nowhere"}
    work = str(tmp_path / "work")
    with enclosed({"allowed_paths": [".", "../other"]}, cwd=work, base=work, environment=env) as place:
        command = place.wrap(prepare(["touch", f"{tmp_path}/other/x"], env=env, cwd=work))
        (tmp_path / "other").rmdir()
        (tmp_path / "other").symlink_to("private")
        result = run_command(command, timeout=60)

    assert result.exit_code is None
    assert "symbolic link" in str(result.problem)
    assert list((tmp_path / "private").iterdir()) == []


@requirement("agentcli:exec:allowed-paths")
def test_an_allowed_path_that_is_missing_is_said(tmp_path):
    warnings = check_paths({"allowed_paths": [".", "later"]}, str(tmp_path), str(tmp_path))
    assert warnings == ["allowed path later does not exist; the task cannot make it"]


@requirement("agentcli:exec:sandbox-unavailable")
@pytest.mark.parametrize(
    "contract, words",
    [
        ({"sandbox": "strict"}, ["strict filesystem/process isolation"]),
        ({"network": "none"}, ["network denial"]),
        ({"network": "restricted", "allowed_paths": ["."]}, ["allowed paths", "network restriction"]),
    ],
)
def test_what_cannot_be_enforced_is_refused_by_name(tmp_path, contract, words):
    with (
        pytest.raises(FlowError) as caught,
        enclosed(contract, cwd=str(tmp_path), base=str(tmp_path), environment={}, mode=" OFF "),
    ):
        pytest.fail("it ran")

    assert caught.value.flow_code == "sandbox_enforcement_unavailable"
    assert caught.value.details["constraints"] == words == constraints(contract)


def test_a_contract_without_constraints_changes_nothing(tmp_path):
    with enclosed({"sandbox": "permissive"}, cwd="/", base="/", environment={}, mode="off") as place:
        command = prepare(["true"])
        assert place.wrap(command) is command
