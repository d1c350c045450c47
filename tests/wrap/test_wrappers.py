"""What holds for every wrapper: sound manifests, honest discovery, a profile for the linter, and a cheap start."""

import json
import os
import subprocess
import sys
import tomllib

import jsonschema_rs
import pytest

from operable.lint.profile import load as load_profile
from operable.tool.arguments import parse
from operable.tool.discovery.capabilities import capabilities_document
from operable.tool.discovery.commands import schema_document
from operable.wrap import load, names
from operable.wrap.commands import function
from operable.wrap.places import folder_of
from tests.cli.drive import PROGRAM, SURROUNDINGS
from tests.tool.drive import LIMIT

NAMES = names()


@pytest.mark.parametrize("name", NAMES)
def test_its_schema_and_capabilities_are_sound(name):
    tool = load(name)

    schema = schema_document(tool, tool.schema_version)
    jsonschema_rs.meta.validate(schema)
    capabilities = capabilities_document(tool)  # reviews every declaration on the way

    assert [command["name"] for command in capabilities["commands"]][: len(tool.names())] == tool.names()


@pytest.mark.parametrize("name", NAMES)
def test_its_functions_exist_and_its_examples_can_be_parsed(name):
    tool = load(name)
    for command in tool.plan.commands.values():
        wanted = [command.function, command.stdin, command.plan.function]
        assert all(callable(function(tool.plan, each)) for each in wanted if each), command.name
        assert command.examples, command.name
        for example in command.examples:
            import shlex

            words = shlex.split(example)
            found = tool.find(command.name)
            assert found is not None
            assert words[: len(command.name.split())] == command.name.split()
            parse(tool, found, words[len(command.name.split()) :])


# What a user sets who reaches the network through a proxy, or trusts certificates of an own authority. Which spelling a
# program reads is its own affair.
_WAY_OUT = {"SSL_CERT_FILE", "SSL_CERT_DIR"} | {
    spelt for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for spelt in (name, name.lower())
}


@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_reaches_the_network_knows_the_users_way_out(name):
    plan = load(name).plan
    reaches = [
        command.name
        for command in plan.commands.values()
        if not plan.syscalls and (command.sandbox is None or "network" not in command.sandbox.gives_up)
    ]

    assert not reaches or set(plan.env_pass) >= _WAY_OUT


@pytest.mark.parametrize("name", NAMES)
def test_its_profile_for_the_linter_names_only_commands_that_it_has(name):
    path = os.path.join(folder_of(name), "aoi-lint.toml")
    load_profile(path)
    with open(path, "rb") as file:
        commands = tomllib.load(file).get("commands", {})

    assert set(commands) <= set(load(name).names())


def test_a_kept_plan_starts_without_yaml_and_validators(tmp_path):
    env = os.environ | SURROUNDINGS | {"OPERABLE_HOME": str(tmp_path)}
    argv = [
        sys.executable,
        "-X",
        "importtime",
        PROGRAM,
        "wrap",
        "ls",
        "list",
        str(tmp_path),
        "--output",
        "jsonl",
    ]
    subprocess.run(argv, env=env, check=True, capture_output=True, timeout=LIMIT)

    again = subprocess.run(argv, env=env, check=True, capture_output=True, timeout=LIMIT)

    loaded = {line.rpartition(b"|")[2].strip().decode() for line in again.stderr.splitlines()}
    assert not loaded & {
        "ruamel.yaml",
        "jsonschema_rs",
        "msgspec",
        "operable.wrap.plan.manifests",
        "subprocess",
        "json",
    }
    assert json.loads(again.stdout.splitlines()[-1])["ok"] is True
