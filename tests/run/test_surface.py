import pytest

from operable.run.surface import surface_changes


def manifest(command=None, **tool):
    entry = {"name": "search", "read_only": True} | (command or {})
    return {"tool": "x", "commands": [entry], **tool}


TABLE = {
    "nothing": ({}, {}, None),
    "words": ({"summary": "a", "examples": ["x"]}, {"summary": "b", "examples": []}, None),
    "an absent flag means no": ({"destructive": False}, {}, None),
    "reads, then mutates": ({}, {"read_only": False}, ("breaking", "NOW_MUTATES")),
    "mutates, then reads": ({"read_only": False}, {}, ("minor", "RELAXED")),
    "becomes destructive": ({}, {"destructive": True}, ("breaking", "NOW_DESTRUCTIVE")),
    "is no longer destructive": ({"destructive": True}, {}, ("minor", "RELAXED")),
    "needs confirmation": ({}, {"requires_confirm": True}, ("breaking", "NOW_NEEDS_CONFIRMATION")),
    "has no end any more": ({}, {"unbounded": True}, ("breaking", "NOW_UNBOUNDED")),
    "loses the cursor": ({"supports_cursor": True}, {}, ("breaking", "SUPPORT_REMOVED")),
    "gets a cursor": ({}, {"supports_cursor": True}, ("minor", "RELAXED")),
    "loses the dry run": ({"supports_dry_run": True}, {}, ("breaking", "SUPPORT_REMOVED")),
    "loses idempotency": ({"supports_idempotency_key": True}, {}, ("breaking", "SUPPORT_REMOVED")),
    "is no longer bounded": ({"bounded": True}, {"bounded": False}, ("breaking", "NO_LONGER_BOUNDED")),
    "lower limit": ({"default_limit": 20}, {"default_limit": 10}, ("breaking", "DEFAULT_LIMIT_CHANGED")),
    "higher limit": ({"default_limit": 20}, {"default_limit": 30}, ("minor", "DEFAULT_LIMIT_CHANGED")),
    "a limit where there was none": ({}, {"default_limit": 20}, ("breaking", "DEFAULT_LIMIT_CHANGED")),
    "no limit any more": ({"default_limit": 20}, {}, ("minor", "DEFAULT_LIMIT_CHANGED")),
    "less time": ({"default_timeout": 9.5}, {"default_timeout": 3}, ("breaking", "DEFAULT_TIMEOUT_CHANGED")),
    "slower heartbeat": (
        {"heartbeat_interval": 5},
        {"heartbeat_interval": 9},
        ("breaking", "HEARTBEAT_CHANGED"),
    ),
    "faster heartbeat": (
        {"heartbeat_interval": 5},
        {"heartbeat_interval": 1},
        ("minor", "HEARTBEAT_CHANGED"),
    ),
    "first heartbeat": ({}, {"heartbeat_interval": 5}, None),
    "same heartbeat": ({"heartbeat_interval": 5}, {"heartbeat_interval": 5}, None),
    "another role": ({"role": "source"}, {"role": "sink"}, ("breaking", "BEHAVIOUR_CHANGED")),
    "tolerates bad lines": (
        {"malformed_input": "fail-fast"},
        {"malformed_input": "tolerant"},
        ("breaking", "BEHAVIOUR_CHANGED"),
    ),
    "event type gone": (
        {"event_types": ["a", "b"]},
        {"event_types": ["a"]},
        ("breaking", "EVENT_TYPE_REMOVED"),
    ),
    "event type new": ({"event_types": ["a"]}, {"event_types": ["a", "b"]}, ("minor", "EVENT_TYPE_ADDED")),
    "input mode gone": ({"input_modes": ["jsonl"]}, {"input_modes": []}, ("breaking", "INPUT_MODE_REMOVED")),
    "needs a login": (
        {"auth": {"required": False}},
        {"auth": {"required": True}},
        ("breaking", "NOW_NEEDS_AUTHENTICATION"),
    ),
    "needs a login, in a word": ({}, {"auth": "oauth"}, ("breaking", "NOW_NEEDS_AUTHENTICATION")),
    "needs no login": ({"auth": "oauth"}, {}, ("minor", "RELAXED")),
    "needs another login": ({"auth": "oauth"}, {"auth": "token"}, ("breaking", "AUTHENTICATION_CHANGED")),
    "login spelled otherwise": ({"auth": {"required": False}}, {"auth": None}, None),
}


@pytest.mark.parametrize("old, new, expected", TABLE.values(), ids=TABLE)
def test_a_change_of_a_command_has_a_level(old, new, expected):
    found = [(level, code) for level, code, _, _ in surface_changes(manifest(old), manifest(new))]
    assert found == ([] if expected is None else [expected])


TOOL = {
    "renamed": ({}, {"tool": "y"}, ("breaking", "TOOL_RENAMED")),
    "AOI version gone": (
        {"aoi_versions": ["0.2"]},
        {"aoi_versions": ["0.3"]},
        ("breaking", "AOI_VERSION_REMOVED"),
    ),
    "output new": ({"outputs": ["jsonl"]}, {"outputs": ["jsonl", "x"]}, ("minor", "OUTPUT_ADDED")),
    "exit code": ({"exit_codes": {"io": 74}}, {"exit_codes": {"io": 5}}, ("breaking", "EXIT_CODE_CHANGED")),
    "release": ({"tool_version": "1"}, {"tool_version": "2"}, None),
    "command gone": ({}, {"commands": []}, ("breaking", "COMMAND_REMOVED")),
    "command new": ({"commands": []}, {}, ("minor", "COMMAND_ADDED")),
    "no commands at all": ({"commands": None}, {"commands": [3, {"name": 4}]}, None),
}


@pytest.mark.parametrize("old, new, expected", TOOL.values(), ids=TOOL)
def test_a_change_of_the_tool_has_a_level(old, new, expected):
    found = [(level, code) for level, code, _, _ in surface_changes(manifest() | old, manifest() | new)]
    assert expected is None or expected in found
    assert bool(found) == (expected is not None)
