"""The examples of section 19 of AOI-CLI, run as they stand there."""

from tests.examples.outline.process import jsonl
from tests.requirement import requirement


def including(expected, event):
    """Whether the event has everything that the draft shows, with the same values; more is allowed."""
    return {name: event.get(name) for name in expected} == expected


@requirement("aoi:19.1:search")
def test_search(outline):
    outline.fill(
        {
            "id": "doc_123",
            "title": "Agent-Operable Tools",
            "body": "A conforming tool exposes a stable interface.",
        },
        {"title": "Cooking", "body": "Nothing of the kind."},
    )
    meta, hit, summary = outline.ok("search", "agent operable", "--limit", "2").events
    assert including(
        {
            "type": "aoi:meta",
            "tool": "outline",
            "tool_version": "1.8.2",
            "aoi_version": "0.2",
            "schema_name": "com.example.outline.events",
            "schema_version": "1.0.0",
            "command": "search",
        },
        meta,
    )
    assert including(
        {
            "type": "hit",
            "rank": 1,
            "id": "doc_123",
            "title": "Agent-Operable Tools",
            "snippet": "A conforming tool exposes a stable interface.",
        },
        hit,
    )
    assert including(
        {"type": "aoi:summary", "ok": True, "count": 1, "warning_count": 0, "error_count": 0, "partial": False, "truncated": False},
        summary,
    )  # fmt: skip


@requirement("aoi:19.2:schema")
def test_schema(outline):
    import json
    import subprocess

    from tests.examples.outline.process import PROGRAM

    done = subprocess.run(
        [PROGRAM, "schema", "--output", "json", "--schema-version", "1"], capture_output=True, env={}, timeout=200, check=True
    )  # fmt: skip
    schema = json.loads(done.stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == "https://schemas.example.com/outline/events/1.0.0/schema.json"
    assert {"hit", "entry", "note", "created", "updated", "deleted", "aoi:summary"} <= set(schema["$defs"])


@requirement("aoi:19.3:doctor")
def test_doctor(outline):
    outline.directory.mkdir(mode=0o700)
    (outline.directory / "config.toml").write_text('remote = "https://notes.example.com"\n')
    result = outline("doctor")
    assert including({"tool": "outline", "aoi_version": "0.2", "command": "doctor"}, result.meta)
    config_file, api_token, *others = result.of("aoi:check")
    assert config_file == {
        "type": "aoi:check",
        "name": "config_file",
        "ok": True,
        "severity": "info",
        "detail": "found",
    }
    assert including(
        {"type": "aoi:check", "name": "api_token", "ok": False, "severity": "error", "detail": "missing"},
        api_token,
    )
    assert all(check["ok"] for check in others)
    assert including({"ok": False, "count": 2 + len(others), "error_count": 1}, result.summary)
    assert result.exit_code != 0


@requirement("aoi:19.4:import-error")
def test_import_with_an_invalid_line(outline):
    lines = jsonl({"title": f"Note {number}"} for number in range(1, 31)).splitlines()
    lines[16] = '{"title": '
    result = outline("import", "--input-jsonl", "-", "--continue-on-error", input="\n".join(lines))
    assert including(
        {"type": "aoi:meta", "tool": "outline", "command": "import", "input_mode": "jsonl", "continue_on_error": True}, result.meta
    )  # fmt: skip
    assert result.error == {
        "type": "aoi:error",
        "category": "validation",
        "code": "INPUT_JSONL_PARSE_ERROR",
        "line_number": 17,
        "message": "Invalid JSON on input line 17",
        "retryable": False,
    }
    assert including(
        {"type": "aoi:summary", "ok": False, "count": 29, "error_count": 1, "partial": True}, result.summary
    )
    assert len(outline.ok("list").domain) == 29
