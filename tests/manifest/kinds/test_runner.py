from operable.manifest import RunnerFile
from operable.manifest.blocks import Runner
from tests.manifest.samples import changed, errors, loaded, warnings


def test_a_runner_is_a_subprocess_unless_the_manifest_says_otherwise():
    runner = loaded("runner", {"id": "plain", "limits": {"timeout_ms": 5}}).as_(RunnerFile)

    assert runner.engine == "subprocess"
    assert runner.block() == Runner(limits=runner.limits)


def test_an_image_is_for_a_sandbox():
    assert warnings("runner", changed("runner", engine="subprocess")) == [("RUNNER_IMAGE", "image")]


def test_in_process_is_announced_as_downgraded_for_untrusted_origins():
    assert warnings("runner", {"engine": "in-process"}) == [("RUNNER_IN_PROCESS", "engine")]


def test_the_older_form_is_migrated_with_a_warning_for_each_thing_that_moved():
    data = {
        "runtime": {"mode": "sandbox", "resources": {"memory_mb": 64}, "env": {"A": "1"}, "network": ["x"]}
    }

    found = loaded("runner", data)

    assert (found.value.engine, found.value.limits.memory_mb) == ("sandbox", 64)
    assert [each.key for each in found.problems] == ["runtime", "runtime.env", "runtime.network"]


def test_the_newer_form_wins_over_the_older_one():
    found = loaded("runner", {"engine": "subprocess", "runtime": {"mode": "sandbox"}})

    assert found.value.engine == "subprocess"


def test_an_engine_or_limit_that_does_not_exist_is_refused():
    assert errors("runner", {"engine": "vm", "limits": {"memory_mb": 0}}) == [
        ("FIELD_VALUE", "engine"),
        ("FIELD_RANGE", "limits.memory_mb"),
    ]
