import os

import pytest

from operable.kernel.errors import Fail
from operable.proc.command import interpreter, resolve


def script(folder, name="tool", mode=0o755):
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_the_search_uses_the_path_of_the_child(tmp_path):
    path = script(tmp_path)
    assert resolve("tool", env={"PATH": f"/nowhere:{tmp_path}"}) == str(path)


def test_a_path_is_relative_to_the_working_directory_of_the_child(tmp_path):
    path = script(tmp_path)
    assert resolve("./tool", env={}, cwd=str(tmp_path)) == str(path)


def test_a_missing_program_says_where_it_was_looked_for_and_what_to_do():
    with pytest.raises(Fail) as caught:
        resolve("no-such-tool", env={"PATH": "/bin"})
    assert (caught.value.category, caught.value.code, caught.value.exit_code) == (
        "not_found",
        "TOOL_NOT_FOUND",
        69,
    )
    assert caught.value.hint


def test_a_file_of_this_folder_is_named_as_a_path_takes_it(tmp_path):
    script(tmp_path)
    with pytest.raises(Fail) as caught:
        resolve("tool", env={"PATH": "/bin"}, cwd=str(tmp_path))
    assert (caught.value.hint or "").endswith(" ./tool")
    assert resolve("./tool", env={"PATH": "/bin"}, cwd=str(tmp_path))


def test_relative_entries_of_the_search_path_are_not_searched(tmp_path, monkeypatch):
    script(tmp_path)
    monkeypatch.chdir(tmp_path)
    for path in ("", ".", ":", "sub/.."):
        with pytest.raises(Fail):
            resolve("tool", env={"PATH": path})


def test_a_file_without_the_execute_bit_is_named_as_such(tmp_path):
    path = script(tmp_path, mode=0o644)
    with pytest.raises(Fail) as caught:
        resolve(str(path), env={})
    assert (caught.value.category, caught.value.code, caught.value.exit_code) == (
        "authz",
        "TOOL_NOT_EXECUTABLE",
        77,
    )


def test_a_later_executable_wins_over_an_earlier_file_that_is_not(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    script(first, mode=0o644)
    assert resolve(
        "tool", env={"PATH": f"{first}:{second}{os.pathsep}{first}"} if script(second) else {}
    ) == str(second / "tool")


def test_a_folder_is_not_a_program(tmp_path):
    (tmp_path / "tool").mkdir()
    with pytest.raises(Fail) as caught:
        resolve("tool", env={"PATH": str(tmp_path)})
    assert caught.value.code == "TOOL_NOT_FOUND"


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_an_impossible_name_is_a_usage_error(name):
    with pytest.raises(Fail) as caught:
        resolve(name, env={"PATH": "/bin"})
    assert caught.value.category == "usage"


@pytest.mark.parametrize(
    "text, expected",
    [
        (b"#!/opt/odd/bin/odd -x\n", "/opt/odd/bin/odd"),
        (b"#! /bin/sh\n", "/bin/sh"),
        (b"#!/usr/bin/env -S A=b odd --flag\n", "FOUND"),
        (b"#!/usr/bin/env nowhere-to-be-found\n", None),
        (b"#!\n", None),
        (b"\x7fELF", None),
    ],
)
def test_the_interpreter_of_a_script_is_what_its_first_line_names(tmp_path, monkeypatch, text, expected):
    odd = tmp_path / "odd"
    odd.write_text("#!/bin/sh\n")
    odd.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    script = tmp_path / "script"
    script.write_bytes(text)

    assert interpreter(str(script)) == (str(odd) if expected == "FOUND" else expected)


def test_a_file_that_cannot_be_read_has_no_interpreter(tmp_path):
    assert interpreter(str(tmp_path / "absent")) is None
