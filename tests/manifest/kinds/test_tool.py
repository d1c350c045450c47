import pytest

from operable.manifest import ManifestError, ToolManifest, load, render
from tests.manifest.samples import CLI, TOOL, changed, errors, loaded, problems, warnings


def test_a_tool_has_cautious_defaults():
    tool = loaded("tool").as_(ToolManifest)

    assert (tool.idempotent, tool.mutates, tool.approval, tool.risk_level, tool.timeout_ms) == (
        False,
        (),
        "auto",
        0,
        30_000,
    )


@pytest.mark.parametrize(
    "element", ["${path}", "${input.path", "${input.path | upper}", "${input.a.b}", "$${env.X}"]
)
def test_a_template_has_one_syntax(element):
    found = errors("tool", changed("tool", runner={"argv": [element]}))

    assert found == [("ARGV_TEMPLATE", "runner.argv.0")]


def test_a_template_uses_declared_inputs():
    [problem] = problems("tool", changed("tool", runner={"argv": ["${input.pth}"]}))

    assert (problem.rule, problem.hint) == ("ARGV_INPUT_UNKNOWN", "did you mean path?")


def test_an_input_that_may_be_absent_needs_a_default():
    assert warnings("tool", changed("tool", runner={"argv": ["${input.limit}"]})) == [
        ("ARGV_INPUT_OPTIONAL", "runner.argv.0")
    ]


def test_a_command_that_changes_things_is_not_approved_by_itself():
    assert errors("tool", changed("tool", mutates=["workspace:/x"], risk_level=1)) == [
        ("APPROVAL_AUTO", "approval")
    ]
    assert (
        problems("tool", changed("tool", mutates=["workspace:/x"], risk_level=1, approval="on-mutate")) == []
    )


def test_effects_of_unknown_classes_and_without_risk_are_warnings():
    data = changed("tool", mutates=["planet:mars"], approval="always")

    assert sorted(rule for rule, _ in warnings("tool", data)) == ["MUTATION_CLASS", "RISK_TOO_LOW"]


@pytest.mark.parametrize("approval, valid", [("policy:gov/x", True), ("policy:", False), ("never", False)])
def test_an_approval_is_a_known_one_or_a_policy(approval, valid):
    assert (errors("tool", changed("tool", approval=approval)) == []) is valid


def test_a_driver_is_not_both_required_and_forbidden():
    data = changed("tool", driver_constraints={"forbid": ["http"], "require_kind": ["cli", "http"]})

    assert errors("tool", data) == [("DRIVER_CONTRADICTION", "driver_constraints.require_kind.1")]


def test_inputs_and_outputs_are_json_schemas_that_examples_fit():
    assert errors("tool", changed("tool", outputs={"type": "objekt"})) == [("SCHEMA_INVALID", "outputs")]
    assert errors("tool", changed("tool", examples=[{"name": "a", "input": {"path": 5}}])) == [
        ("EXAMPLE_INVALID", "examples.0.input")
    ]


def test_a_schema_of_a_tool_leads_to_no_other_document():
    for reference in ("https://example.com/x.json", "file:///etc/passwd"):
        assert errors("tool", changed("tool", outputs={"$ref": reference})) == [("SCHEMA_INVALID", "outputs")]


@pytest.mark.parametrize("binding", [{}, {"vault": "ab", "value": "x"}])
def test_a_variable_has_one_source(binding):
    assert errors("tool", changed("tool", secrets={"TOKEN": binding})) == [("SECRET_SOURCE", "secrets.TOKEN")]


@pytest.mark.parametrize(
    "sandbox, wider",
    [
        ({"network": {"egress": ["api.example.com"]}}, None),
        ({"network": {"egress": ["example.net"]}}, "network.egress"),
        ({"fs": {"read": ["~/src/a/**"], "deny": ["~/src/private/**"]}}, None),
        ({"fs": {"read": ["~/src/a/**"]}}, "fs.deny"),
        ({"fs": {"write": ["~/src/**"], "deny": ["~/src/private/**"]}}, "fs.write"),
        ({"exec": {"allow": True}}, "exec.allow"),
        ({"env": {"pass": ["HOME"]}}, None),
        ({"env": {"pass": ["SSH_AUTH_SOCK"]}}, "env.pass"),
        ({"env": {"set": {"LC_ALL": "C"}}}, None),
        ({"env": {"set": {"LD_PRELOAD": "x"}}}, "env.set"),
        ({}, None),
    ],
    ids=str,
)
def test_a_sandbox_narrows_that_of_its_bundle_and_never_widens_it(tmp_path, sandbox, wider):
    folder = tmp_path / "git" / "tools" / "log"
    folder.mkdir(parents=True)
    (tmp_path / "git" / "CLI.md").write_text(render(CLI))
    (folder / "TOOL.md").write_text(render({**TOOL, "sandbox": sandbox}))

    if wider is None:
        assert load(folder / "TOOL.md", workspace=tmp_path).problems == ()
    else:
        with pytest.raises(ManifestError) as caught:
            load(folder / "TOOL.md", workspace=tmp_path)
        assert caught.value.code == "SANDBOX_WIDENED"
        assert wider in str(caught.value)
