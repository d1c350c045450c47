"""The optional blocks of tasks, handlers and workflows: every member, its limits, and its words for what is wrong."""

import pytest

from tests.flow.manifests import NO_OBJECTS, changed, errors, manifest, prompt_task, shell_task, triggered
from tests.requirement import requirement

TOKEN = "contains unsupported path or token characters"
TRUST = "must be one of: untrusted, restricted, supervised, autonomous"
# Member -> (a wrong value, its message), then every value that is right.
MEMBERS = {
    "model_policy.provider": ("a b", TOKEN, "a/b"),
    "model_policy.model": ("a b", TOKEN, "gpt-5.2"),
    "model_policy.thinking": ("a b", TOKEN, "high"),
    "intent.mode": ("run", "must be one of: execute, plan", "execute", "plan"),
    "intent.read_only": (1, "must be a boolean", True, False),
    "output.preview_bytes": (63, "must be an integer >= 64", 64, 64.0),
    "output.offload": ("no", "must be one of: auto, always, never", "auto", "always", "never"),
    "output.retrieve": ("no", "must be one of: inline, on-demand", "inline", "on-demand"),
    "output.format": ("xml", "must be one of: json, ndjson, text", "json", "ndjson", "text"),
    "budgets.max_iterations": (0, "must be an integer >= 1", 1),
    "budgets.max_fanout": (0, "must be an integer >= 1", 1),
    "budgets.max_context_items": (0, "must be an integer >= 1", 1),
    "budgets.max_pending_approvals": (0, "must be an integer >= 1", 1),
    "budgets.max_queued_dispatches": (0, "must be an integer >= 1", 1),
    "delivery.mode": ("mail", "must be one of: announce, announce-always, none", "none"),
    "delivery.channel": ("a b", TOKEN, "telegram"),
    "delivery.to": ("a b", TOKEN, "chat:1"),
    "reliability.guarantee": ("once", "must be one of: at-most-once, at-least-once", "at-most-once", "at-least-once"),
    "reliability.max_retries": (-1, "must be an integer >= 0", 0),
    "reliability.overlap_policy": ("no", "must be one of: skip, allow, queue", "skip", "allow", "queue"),
    "runtime.timeout_ms": (0, "must be an integer >= 1", 1),
    "approval.required": (1, "must be a boolean", True, False),
    "approval.policy": ("ask", "must be one of: manual, auto-approve, auto-reject", "manual", "auto-approve", "auto-reject"),
    "approval.risk_level": ("none", "must be one of: low, medium, high", "low", "medium", "high"),
    "approval.approver_scope": ("a b", TOKEN, "user:me@example.com"),
    "approval.timeout_s": (0, "must be an integer >= 1", 1),
    "approval.auto": ("wait", "must be one of: approve, reject", "approve", "reject"),
    "context.retrieval": ("all", "must be one of: none, recent, hybrid", "none", "recent", "hybrid"),
    "context.limit": (0, "must be an integer >= 1", 1),
    "session.preferred_key": ("a b", TOKEN, "main:1"),
    "contract.sandbox": ("full", "must be one of: none, permissive, strict", "none", "permissive", "strict"),
    "contract.allowed_paths": ("/tmp", "must be an array", [], ["/tmp", "a b"]),
    "contract.network": ("off", "must be one of: unrestricted, restricted, none", "unrestricted", "restricted", "none"),
    "contract.max_cost_usd": (-0.5, "must be a number >= 0", 0, 2.5),
    "contract.audit": ("never", "must be one of: none, on-failure, always", "none", "on-failure", "always"),
    "contract.required_trust_level": ("full", TRUST, "untrusted", "restricted", "supervised", "autonomous"),
    "contract.trust_enforcement": ("hard", "must be one of: none, advisory, strict", "none", "advisory", "strict"),
}  # fmt: skip
OWNERS = {
    "a task": ("workflows.0.tasks.0", "$.workflows[0].tasks[0]"),
    "a handler": ("workflows.0.tasks.0.on_failure", "$.workflows[0].tasks[0].on_failure"),
    "a workflow": ("workflows.0", "$.workflows[0]"),
}
OF_WORKFLOWS = ("model_policy", "contract")


def with_handler():
    return manifest(shell_task(on_failure={"prompt": "see"}))


def owners_of(block):
    return [owner for owner in OWNERS if owner != "a workflow" or block in OF_WORKFLOWS]


@requirement("agentcli:validation:output-and-contract")
@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_has_its_values_and_its_words_wherever_its_block_may_be(member):
    wrong, message, *right = MEMBERS[member]
    for owner in owners_of(member.partition(".")[0]):
        path, place = OWNERS[owner]
        assert errors(changed(with_handler(), f"{path}.{member}", wrong)) == [(f"{place}.{member}", message)]
        for value in (*right, None):
            assert errors(changed(with_handler(), f"{path}.{member}", value)) == [], value


@requirement("agentcli:validation:output-and-contract")
@pytest.mark.parametrize("block", dict.fromkeys(member.partition(".")[0] for member in MEMBERS))
def test_a_block_is_an_object_or_absent(block):
    for owner in owners_of(block):
        path, place = OWNERS[owner]
        for wrong in NO_OBJECTS:
            assert errors(changed(with_handler(), f"{path}.{block}", wrong)) == [
                (f"{place}.{block}", "must be an object")
            ]
        assert errors(changed(with_handler(), f"{path}.{block}", None)) == []


@requirement("agentcli:validation:output-and-contract")
def test_paths_are_texts():
    value = changed(manifest(), "workflows.0.tasks.0.contract.allowed_paths", ["/a", "", None, 5])

    assert errors(value) == [
        ("$.workflows[0].tasks[0].contract.allowed_paths[1]", "cannot be empty"),
        ("$.workflows[0].tasks[0].contract.allowed_paths[2]", "is required"),
        ("$.workflows[0].tasks[0].contract.allowed_paths[3]", "must be a string"),
    ]


@requirement("agentcli:validation:delivery-to")
@pytest.mark.parametrize("owner", ["a task", "a handler"])
def test_both_ways_of_announcing_need_a_receiver_and_silence_does_not(owner):
    path, place = OWNERS[owner]
    message = 'is required when delivery.mode is "announce" or "announce-always"'
    for mode in ("announce", "announce-always"):
        for delivery in ({"mode": mode}, {"mode": mode, "to": None}):
            value = changed(with_handler(), f"{path}.delivery", delivery)
            assert errors(value) == [(f"{place}.delivery.to", message)]
        value = changed(with_handler(), f"{path}.delivery", {"mode": mode, "to": "chat:1"})
        assert errors(value) == []
    assert errors(changed(with_handler(), f"{path}.delivery", {"channel": "x"})) == []


@requirement("agentcli:validation:one-invocation")
@pytest.mark.parametrize("name", ["schedule", "trigger"])
@pytest.mark.parametrize("wrong", ["daily", 5, [], True, False])
def test_a_wrong_type_of_one_invocation_is_the_only_error(name, wrong):
    alone = {**shell_task(schedule=None), name: wrong}
    both = {**(shell_task(**triggered("b")) if name == "schedule" else shell_task()), name: wrong}
    expected = [(f"$.workflows[0].tasks[0].{name}", "must be an object")]

    assert errors(manifest(alone)) == expected
    assert errors(manifest(both, shell_task("b"))) == expected


@requirement("agentcli:validation:one-invocation")
def test_null_is_no_invocation_and_an_empty_one_is_one():
    message = "must define exactly one of schedule or trigger"
    task = {**shell_task(schedule=None), "schedule": None, "trigger": None}
    assert errors(manifest(task)) == [("$.workflows[0].tasks[0]", message)]
    assert errors(manifest({**shell_task(), "schedule": {}})) == [
        ("$.workflows[0].tasks[0].schedule.cron", "is required")
    ]
    assert errors(manifest({**shell_task(schedule=None), "trigger": {}})) == [
        ("$.workflows[0].tasks[0].trigger.parent", "is required"),
        ("$.workflows[0].tasks[0].trigger.on", "is required"),
    ]


@requirement("agentcli:validation:one-invocation")
@pytest.mark.parametrize(
    "invocation, place, message",
    [
        ({"schedule": {"cron": " "}}, "schedule.cron", "cannot be empty"),
        ({"schedule": {"cron": "not a cron", "tz": ""}}, "schedule.tz", "cannot be empty"),
        ({"schedule": {"cron": "* * * * *", "tz": 5}}, "schedule.tz", "must be a string"),
        (triggered("b", on="later"), "trigger.on", "must be one of: success, failure, complete"),
        (triggered("b", delay_s=-1), "trigger.delay_s", "must be an integer >= 0"),
        (triggered("b", delay_s=True), "trigger.delay_s", "must be an integer >= 0"),
        (triggered("b", parent=5), "trigger.parent", "must be a string"),
    ],
)  # fmt: skip
def test_members_of_schedules_and_triggers(invocation, place, message):
    value = manifest(shell_task(**invocation), shell_task("b"))

    assert errors(value) == [(f"$.workflows[0].tasks[0].{place}", message)]


@requirement("agentcli:validation:one-invocation")
def test_any_text_is_a_schedule_or_a_zone_and_all_three_outcomes_trigger():
    assert errors(manifest(shell_task(schedule={"cron": "never", "tz": "Mars/Olympus"}))) == []
    for outcome in ("success", "failure", "complete"):
        assert errors(manifest(shell_task(), shell_task("b", **triggered("a", on=outcome, delay_s=0)))) == []


@requirement("agentcli:validation:execution-surface")
@pytest.mark.parametrize("session, kind", [("main", "systemEvent"), ("main", "agentTurn"), ("isolated", "agentTurn"), ("isolated", "shellCommand")])  # fmt: skip
def test_a_prompt_target_may_name_any_kind_of_payload(session, kind):
    target = {"session_target": session, "payload_kind": kind}

    assert errors(manifest(prompt_task(target=target))) == []
    assert errors(manifest(prompt_task(target={**target, "payload_kind": "x"}))) == [
        (
            "$.workflows[0].tasks[0].target.payload_kind",
            "must be one of: systemEvent, agentTurn, shellCommand",
        )
    ]


@requirement("agentcli:validation:execution-surface")
@pytest.mark.parametrize("kind", ["systemEvent", "agentTurn", "x", 5])
def test_a_shell_target_is_a_shell_command(kind):
    task = shell_task(target={"session_target": "shell", "payload_kind": kind})

    assert errors(manifest(task)) == [
        ("$.workflows[0].tasks[0].target.payload_kind", "must be shellCommand for shell targets")
    ]
    assert (
        errors(manifest(shell_task(target={"session_target": "shell", "payload_kind": "shellCommand"}))) == []
    )


@requirement("agentcli:validation:execution-surface")
@pytest.mark.parametrize(
    "shell, place, message",
    [
        ([], "shell", "must be an object"),
        ({}, "shell.program", "is required"),
        ({"program": "~/x"}, "shell.program", TOKEN),
        ({"program": "$x"}, "shell.program", TOKEN),
        ({"program": "x", "args": "a"}, "shell.args", "must be an array"),
        ({"program": "x", "args": ["a", None]}, "shell.args[1]", "is required"),
        ({"program": "x", "args": [5]}, "shell.args[0]", "must be a string"),
        ({"program": "x", "args": ["a\x00b"]}, "shell.args[0]", "contains unsupported control characters"),
        ({"program": "x", "cwd": ""}, "shell.cwd", "cannot be empty"),
        ({"program": "x", "cwd": 5}, "shell.cwd", "must be a string"),
        ({"program": "x", "stdin": []}, "shell.stdin", "must be a string"),
    ],
)
def test_a_shell_has_a_program_arguments_a_folder_and_an_input(shell, place, message):
    assert errors(manifest(shell_task(shell=shell))) == [(f"$.workflows[0].tasks[0].{place}", message)]
    handler = {"shell": shell, "target": {"session_target": "shell"}}
    assert errors(manifest(shell_task(on_failure=handler))) == [
        (f"$.workflows[0].tasks[0].on_failure.{place}", message)
    ]


@requirement("agentcli:validation:execution-surface")
def test_an_empty_input_is_one_and_null_is_absent_everywhere():
    shell = {"program": "/usr/bin/x", "args": None, "env": None, "cwd": None, "stdin": ""}
    task = {**shell_task(shell=shell), "prompt": None, "enabled": None, "on_failure": None}

    assert errors(manifest(task)) == []
    assert errors(manifest({**prompt_task(), "shell": None})) == []


@requirement("agentcli:validation:execution-surface")
@pytest.mark.parametrize("prompt", ["x", "", 5, [], False])
def test_whatever_it_is_a_prompt_is_not_for_a_shell(prompt):
    assert errors(manifest(shell_task(prompt=prompt))) == [
        ("$.workflows[0].tasks[0].prompt", "must not be present for shell targets")
    ]


@requirement("agentcli:validation:execution-surface")
@pytest.mark.parametrize("session", ["main", "isolated"])
def test_a_prompt_target_has_a_prompt_and_no_shell(session):
    target = {"session_target": session}
    place = "$.workflows[0].tasks[0]"
    for prompt, message in (("", "cannot be empty"), (5, "must be a string"), ("a\x01", "contains unsupported control characters")):  # fmt: skip
        assert errors(manifest(prompt_task(target=target, prompt=prompt))) == [(f"{place}.prompt", message)]
    both = [
        (f"{place}.prompt", "is required"),
        (f"{place}.shell", "must not be present unless target.session_target is shell"),
    ]
    assert errors(manifest(prompt_task(target=target, prompt=None, shell={"program": "x"}))) == both


@requirement("agentcli:validation:execution-surface")
@pytest.mark.parametrize(
    "handler, found",
    [
        ({}, [("prompt", "is required")]),
        ({"prompt": "x", "shell": {"program": "x"}}, [("prompt", "must not be present for shell targets")]),
        ({"shell": {"program": "a b"}}, [("shell.program", TOKEN)]),
        ({"prompt": "x", "target": {}}, [("target.session_target", "is required")]),
        ({"target": {"session_target": "shell"}}, [("shell", "is required")]),
        ({"prompt": "x", "target": {"session_target": "main", "agent_id": "a<b"}}, [("target.agent_id", TOKEN)]),
        ({"prompt": "x", "id": "-"}, [("id", "must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/")]),
        ({"prompt": "x", "name": ""}, [("name", "cannot be empty")]),
        ({"prompt": "x", "enabled": 1}, [("enabled", "must be a boolean")]),
        ({"prompt": "x", "delay_s": -1}, [("delay_s", "must be an integer >= 0")]),
        ({"prompt": "x", "delete_after_run": 1}, [("delete_after_run", "must be a boolean")]),
        ({"prompt": "x", "condition": "y"}, [("condition", "must start with contains: or regex:")]),
        (
            {"prompt": "x", "target": {"session_target": "shell", "payload_kind": "agentTurn"}, "shell": {"program": "y"}},
            [("target.payload_kind", "must be shellCommand for shell targets"), ("prompt", "must not be present for shell targets")],
        ),
    ],
)  # fmt: skip
def test_a_handler_is_judged_like_a_task_whose_target_is_inferred(handler, found):
    assert errors(manifest(shell_task(on_failure=handler))) == [
        (f"$.workflows[0].tasks[0].on_failure.{place}", message) for place, message in found
    ]


@requirement("agentcli:validation:execution-surface")
@pytest.mark.parametrize("handler", [[], "x", 5, False])
def test_a_handler_is_an_object(handler):
    assert errors(manifest({**shell_task(), "on_failure": handler})) == [
        ("$.workflows[0].tasks[0].on_failure", "must be an object")
    ]


@requirement("agentcli:validation:shell-env")
def test_every_name_and_value_of_an_environment_is_judged_in_order():
    env = {"1": "x", "a-b": "", "_OK9": "x", "É": "x", "N": None, "T": "tab\tx", "C": "\x01", "E": " "}
    place = "$.workflows[0].tasks[0].shell.env"
    name = "must match /^[A-Za-z_][A-Za-z0-9_]*$/"

    assert errors(manifest(shell_task(shell={"program": "x", "env": env}))) == [
        (f"{place}.1", name),
        (f"{place}.a-b", name),
        (f"{place}.a-b", "cannot be empty"),
        (f"{place}.É", name),
        (f"{place}.N", "is required"),
        (f"{place}.C", "contains unsupported control characters"),
        (f"{place}.E", "cannot be empty"),
    ]
    for wrong in ("A=b", 5, ["A=b"], False):
        assert errors(manifest(shell_task(shell={"program": "x", "env": wrong}))) == [
            (place, "must be an object")
        ]


@requirement("agentcli:validation:verify")
@pytest.mark.parametrize("owner", ["a task", "a workflow"])
@pytest.mark.parametrize(
    "block, found",
    [
        ("true", [("", "must be an object")]),
        ([], [("", "must be an object")]),
        ({"shell": None}, [(".shell", "is required and must be a non-empty string")]),
        ({"shell": 5}, [(".shell", "is required and must be a non-empty string")]),
        ({"shell": "\ufeff"}, [(".shell", "is required and must be a non-empty string")]),
        ({"shell": "\x85"}, []),
        ({"shell": "\x1f"}, [(".shell", "contains unsupported control characters")]),
        ({"shell": "a\x00b"}, [(".shell", "contains unsupported control characters")]),
        ({"shell": "test -f x && y", "timeout_seconds": 1, "on_failure": "warn"}, []),
        ({"shell": "x", "timeout_seconds": None, "on_failure": None}, []),
        ({"shell": "x", "on_failure": "error", "timeout_seconds": 1.5}, [(".timeout_seconds", "must be an integer >= 1")]),
        ({"shell": "x", "timeout_seconds": "5"}, [(".timeout_seconds", "must be an integer >= 1")]),
        ({"shell": "", "timeout_seconds": 0, "on_failure": 5}, [
            (".shell", "is required and must be a non-empty string"),
            (".timeout_seconds", "must be an integer >= 1"),
            (".on_failure", "must be one of: error, warn"),
        ]),
    ],
)  # fmt: skip
def test_a_verify_block_has_a_line_a_time_and_an_outcome(owner, block, found):
    path, place = OWNERS[owner]

    assert errors(changed(manifest(), f"{path}.verify", block)) == [
        (f"{place}.verify{member}", message) for member, message in found
    ]


@requirement("agentcli:validation:overlays")
@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize(
    "path, wrong, message",
    [
        ("authorization_proof", [], "must be an object"),
        ("authorization_proof.ref", None, "is required"),
        ("authorization_proof.ref", "", "cannot be empty"),
        ("authorization_proof.claims", "x", "must be an object"),
        ("authorization_proof.claims", [], "must be an object"),
        ("authorization_proof.verify", True, "must be an object"),
        ("authorization_proof.verify.required", 1, "must be a boolean"),
        ("authorization", "z", "must be an object"),
        ("authorization.ref", None, "is required"),
        ("authorization.provider_config", [], "must be an object"),
        ("authorization.on_error", "allow", "must be one of: deny, warn"),
        ("authorization.request", [], "must be an object"),
        ("authorization.request.include", "identity", "must be an array"),
        ("authorization.decision", "allow", "must be an object"),
        ("authorization.decision.allow_values", "yes", "must be an array"),
        ("authorization.decision.deny_values", {}, "must be an array"),
        ("authorization.decision.escalate_values", 5, "must be an array"),
        ("evidence", 5, "must be an object"),
        ("evidence.ref", 5, "must be a string"),
        ("evidence.payload", [], "must be an object"),
        ("evidence.payload.bind", "result", "must be an array"),
        ("evidence.payload.context", [], "must be an object"),
        ("evidence.payload.format", "", "cannot be empty"),
        ("evidence.verify", "yes", "must be an object"),
        ("evidence.verify.required", "yes", "must be a boolean"),
    ],
)  # fmt: skip
def test_references_and_what_they_overlay_have_their_shapes(owner, path, wrong, message):
    base, place = OWNERS[owner]
    value = with_handler()
    profiles = {
        "authorization_proof_profiles": [{"id": "p", "method": "none"}],
        "authorization_profiles": [{"id": "z", "provider": "none"}],
        "evidence_profiles": [{"id": "e", "provider": "none"}],
    }
    for block, ref in (("authorization_proof", "p"), ("authorization", "z"), ("evidence", "e")):
        value = changed(value, f"{base}.{block}.ref", ref)
    value |= profiles

    assert errors(value) == []
    assert errors(changed(value, f"{base}.{path}", wrong)) == [(f"{place}.{path}", message)]


@requirement("agentcli:validation:overlays")
@pytest.mark.parametrize("name", ["request.include", "decision.allow_values", "decision.deny_values", "decision.escalate_values"])  # fmt: skip
def test_lists_of_a_policy_hold_texts(name):
    value = manifest(
        shell_task(authorization={"ref": "z"}), authorization_profiles=[{"id": "z", "provider": "none"}]
    )
    for base, place in (
        ("workflows.0.tasks.0.authorization", "$.workflows[0].tasks[0].authorization"),
        ("authorization_profiles.0", "$.authorization_profiles[0]"),
    ):
        assert errors(changed(value, f"{base}.{name}", ["x", "", 5, None])) == [
            (f"{place}.{name}[1]", "cannot be empty"),
            (f"{place}.{name}[2]", "must be a string"),
            (f"{place}.{name}[3]", "is required"),
        ]


PREFIX = "must start with contains: or regex:"


def of_a_trigger(condition):
    value = manifest(shell_task(), shell_task("b", **triggered("a", condition=condition)))
    found = errors(value)
    assert {path for path, _ in found} <= {"$.workflows[0].tasks[1].trigger.condition"}
    return [message for _, message in found]


def of_a_handler(condition):
    found = errors(manifest(shell_task(on_failure={"prompt": "x", "condition": condition})))
    assert {path for path, _ in found} <= {"$.workflows[0].tasks[0].on_failure.condition"}
    return [message for _, message in found]


@requirement("agentcli:validation:conditions")
@pytest.mark.parametrize("judged", [of_a_trigger, of_a_handler])
@pytest.mark.parametrize(
    "condition, found",
    [
        (None, []),
        ("contains:x", []),
        ("contains: x", []),
        ("contains:regex:(", []),
        ("regex:^ok$", []),
        ("regex:a|b ", []),
        ("contains:", ["contains trigger condition cannot be empty"]),
        ("contains:\ufeff\u00a0", ["contains trigger condition cannot be empty"]),
        ("regex: \t", ["regex trigger condition cannot be empty"]),
        ("", ["cannot be empty", PREFIX]),
        ("  ", ["cannot be empty", PREFIX]),
        ("x", [PREFIX]),
        (" contains:x", [PREFIX]),
        ("Contains:x", [PREFIX]),
        ("regexp:x", [PREFIX]),
        ("contains", [PREFIX]),
        ("contains:a\x00", ["contains unsupported control characters"]),
        ("x\x00", ["contains unsupported control characters", PREFIX]),
        (5, ["must be a string"]),
        (["contains:x"], ["must be a string"]),
        (False, ["must be a string"]),
    ],
)
def test_a_condition_has_a_prefix_and_a_text(judged, condition, found):
    assert judged(condition) == found


@requirement("agentcli:validation:conditions")
@pytest.mark.parametrize("source", ["(?<n>a)", r"\/", "[^]", "a{,3}", r"\d$", "a{", "]", r"(?=a)", r"(?<!a)b", r"(a)\2"])  # fmt: skip
def test_expressions_of_javascript_are_accepted(source):
    assert of_a_trigger(f"regex:{source}") == of_a_handler(f"regex:{source}") == []


@requirement("agentcli:validation:conditions")
@pytest.mark.parametrize("source", ["(", ")", "[", "*", "a**", "(?i)x", "(?P<n>a)", "[b-a]", "a{2,1}"])
def test_what_is_none_there_is_refused_in_the_words_of_the_engine(source):
    for judged in (of_a_trigger, of_a_handler):
        [message] = judged(f"regex:{source}")
        assert message.startswith("invalid regex: ")
        assert len(message) > len("invalid regex: ")
