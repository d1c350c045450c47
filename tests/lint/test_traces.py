import pytest

from operable.lint.traces import question, trace


@pytest.mark.parametrize(
    "language, text",
    [
        ("Python", "Traceback (most recent call last):\n  File"),
        (
            "Python",
            "Exception ignored in: <_io.TextIOWrapper name='<stdout>'>\nBrokenPipeError: [Errno 32] Broken pipe",
        ),
        (
            "Node",
            "Error: write EPIPE\n    at afterWriteDispatched (node:internal/stream_base_commons:161:15)",
        ),
        ("Node", "file:///x.mjs:3\n    at main (/srv/x.js:10:9)"),
        ("Go", "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:"),
        ("Rust", "thread 'main' panicked at library/std/src/io/stdio.rs:1021:9:\nfailed printing to stdout"),
        ("Rust", "thread 'main' (1234) panicked at src/main.rs:4:5:"),
        ("Java", 'Exception in thread "main" java.lang.NullPointerException\n\tat Main.main(Main.java:3)'),
        ("Ruby", "x.rb:1:in `write': Broken pipe @ io_writev - <STDOUT> (Errno::EPIPE)"),
    ],
)
def test_a_stack_trace_is_recognised(language, text):
    found = trace(f"some words before\n{text}\n")

    assert found is not None
    assert found[0] == language


@pytest.mark.parametrize(
    "text", ["", "notes: write error: Broken pipe", "error: no such note at all", "warning: 3 at most\n"]
)
def test_plain_words_are_no_stack_trace(text):
    assert trace(text) is None


@pytest.mark.parametrize(
    "text", ["Continue? [y/N] ", "Password: ", "log line\nAre you sure? ", "Enter your name: "]
)
def test_a_prompt_is_recognised(text):
    assert question(text)


@pytest.mark.parametrize("text", ["", "done.\n", "what happened?\n", "reading x.json"])
def test_other_words_are_no_prompt(text):
    assert question(text) is None
