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
        ("Python", "Exception ignored while flushing sys.stdout:\nOSError: [Errno 32]"),
        ("OCaml", 'Fatal error: exception Sys_error("Broken pipe")'),
        ("PHP", "PHP Fatal error:  Uncaught Exception in /x.php:3\nStack trace:\n#0 {main}"),
        ("Dart", "Unhandled exception:\nFileSystemException: writeFrom failed, path = ''"),
        ("Crystal", "Unhandled exception: Error writing file: Broken pipe (IO::Error)\n  from main"),
        (".NET", "Unhandled exception. System.IO.IOException: Broken pipe\n   at System.IO.Strategies"),
        ("Deno", "error: Uncaught (in promise) BrokenPipe: Broken pipe (os error 32)"),
        ("Haskell", "notes: <stdout>: commitBuffer: resource vanished (Broken pipe)"),
        ("Julia", "ERROR: LoadError: IOError: write: broken pipe (EPIPE)"),
        ("Nim", "Error: unhandled exception: errno: 32 `Broken pipe` [IOError]"),
        ("R", "Error in cat(x) : ignoring SIGPIPE signal\nExecution halted"),
        ("Swift", "notes/main.swift:7: Fatal error: Unexpectedly found nil"),
        ("Tcl", 'error writing "stdout": broken pipe\n    while executing\n"puts x"'),
        ("Zig", "thread 4711 panic: reached unreachable code"),
        ("C++", "terminate called after throwing an instance of 'std::ios_base::failure'"),
        ("Ruby", "x.rb:1:in `write': Broken pipe @ io_writev - <STDOUT> (Errno::EPIPE)"),
    ],
)
def test_a_stack_trace_is_recognised(language, text):
    found = trace(f"some words before\n{text}\n")

    assert found is not None
    assert found[0] == language


@pytest.mark.parametrize(
    "text",
    [
        *("", "notes: write error: Broken pipe", "error: no such note at all", "warning: 3 at most\n"),
        *(
            "ERROR: the store is busy",
            "Error: unknown note",
            "Fatal: no store",
            "thread 4 waits",
            "error: uncaught fish",
        ),
    ],
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
