"""`operable-agent`: from the command line to `ready` with as little loaded as possible.

A host waits for `ready`, so nothing is before it that need not: options are read by hand, and for a new session
with the offline model the line is written before the interpreter has seen asyncio, typing or any SDK. Whatever can go
wrong by configuration is found before `ready`: one `error` event, and an exit status that is not 0. Real stdout is
kept for protocol lines alone: descriptor 1 leads to stderr from the first moment, so that no library can write
between them.
"""

import os
import sys

from operable.agent.options import choose_provider, read_options
from operable.kernel.errors import EX_CONFIG, EX_IOERR, EX_SIGPIPE, EX_SOFTWARE, Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

VERSION = "0.2.0"  # of the protocol
# With these, something may still turn out to be wrong after the command line was read.
_CAN_FAIL = ("resume", "tools", "apps", "sandbox", "effort")


def main() -> "NoReturn":
    """The console script."""
    _open_what_is_closed()
    status = run(sys.argv[1:], _taken_environment(sys.argv[1:]))
    sys.stderr.flush()
    if sys.stdout is not None:
        sys.stdout.flush()
    # Not through the interpreter's end: a thread that waits for a model or a tool must not hold it up.
    os._exit(status)


def _taken_environment(argv: list[str]) -> "dict[str, str]":
    """A key is taken out of what others can see of this process; without one nothing is loaded for that."""
    from operable.kernel.redact.names import is_secret_name

    given = any(word in ("-k", "--api-key") or word.startswith("--api-key=") for word in argv)
    if given or any(is_secret_name(name) or "://" in value for name, value in os.environ.items()):
        from operable.agent.secrecy import take_environment

        return take_environment(argv)
    return dict(os.environ)


def run(argv: list[str], environment: "dict[str, str] | None" = None) -> int:
    if environment is None:
        environment = dict(os.environ)
    json_stream = "--json-stream" in argv
    stdout = _keep_stdout() if json_stream or "--acp" in argv else 1
    try:
        options = read_options(argv, environment)
        if (
            options.get("help")
            or options.get("version")
            or not (options.get("json_stream") or options.get("acp"))
        ):
            from operable.agent.people import serve_people

            return serve_people(options, environment)
        if options.get("acp"):
            from operable.agent.acp.server import serve_acp
            from operable.agent.assembly import keep_logs

            keep_logs(options, environment)
            return serve_acp(options, environment, stdout)
        choose_provider(options, environment)
        _enter_workspace(options)
        return _serve_stream(options, environment, stdout)
    except Fail as problem:
        if json_stream:
            # The event has no field for a hint, and the host shows the message.
            advice = f"; {problem.hint}" if problem.hint else ""
            _write(stdout, _error("config_error", f"{problem.message}{advice}"))
        else:
            sys.stderr.write(f"operable-agent: {problem.message}\n")
            if problem.hint:
                sys.stderr.write(f"  {problem.hint}\n")
        return problem.exit_code or EX_CONFIG
    except Exception as fault:
        if not json_stream:
            raise
        from traceback import print_exc

        print_exc()
        _write(stdout, _error("internal_error", f"{type(fault).__name__}: {fault}"))
        return EX_SOFTWARE


def _serve_stream(options: "dict[str, Any]", environment: "dict[str, str]", stdout: int) -> int:
    """Light first: a new session of the offline model is announced before its machinery is loaded."""
    early = (
        options["provider"] == "offline"
        and not any(name in options for name in _CAN_FAIL)
        and not environment.get("OPERABLE_OFFLINE_SCRIPT")
        and not _is_configured(options["workspace"])
    )
    if early:
        from operable.agent.places import new_session

        # The folder is made here, so that an id that exists is an error and not a `ready`.
        options["session_folder_made"] = True
        options["session_id"] = new_session(options)
        _end_at_once_on_sigterm()
        _write(stdout, _ready(options))
    from operable.agent.assembly import assemble, keep_logs
    from operable.agent.stream_server import StreamServer

    keep_logs(options, environment)
    conversation, close = assemble(options, environment)
    server = StreamServer(conversation, stdin=0, stdout=stdout, close=close)
    if not early:
        from operable.wire import json_stream as protocol

        ready = protocol.ReadyFrame(
            version=VERSION, session_id=options.get("session_id"), capabilities=server.capabilities()
        )
        _write(stdout, protocol.encode(ready))
    return server.serve()


def _is_configured(workspace: str) -> bool:
    """Whether a file of the user or of the project may be wrong, which is said before `ready`."""
    from operable.project.places import is_configured

    return is_configured(workspace)


def _end_at_once_on_sigterm() -> None:
    """From `ready` until the server takes over: there is nothing to save yet."""
    if TYPE_CHECKING:
        import signal as signals
    else:
        try:
            import _signal as signals  # `signal` imports `enum`
        except ImportError:  # another Python implementation
            import signal as signals
    signals.signal(signals.SIGTERM, lambda *_: os._exit(0))


def _open_what_is_closed() -> None:
    """Without stdin or stderr, /dev/null replaces them: else the next file that is opened would take their place."""
    for descriptor in (0, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - it lives as long as the process


def _keep_stdout() -> int:
    try:
        kept = os.dup(1)
    except OSError:  # closed from the start: there is no client
        os._exit(EX_SIGPIPE)
    os.dup2(2, 1)
    os.set_inheritable(kept, False)
    return kept


def _enter_workspace(options: "dict[str, Any]") -> None:
    workspace = os.path.realpath(options.get("workspace", "."))
    if not os.path.isdir(workspace):
        raise Fail("config", "NO_WORKSPACE", f"The workspace {workspace} is not a folder")
    options["workspace"] = workspace


def _ready(options: "dict[str, Any]") -> bytes:
    """By hand, because the codec costs more to load than the interpreter; a test holds it equal to the codec's."""
    mode = "yolo" if options.get("auto_approve") else "default"
    session = options.get("session_id")
    identity = f'"session_id":{_quote(session)},' if session else ""
    return (
        f'{{"type":"ready","version":"{VERSION}",{identity}"capabilities":{{"tool_approval":true,"thinking":true,'
        '"mcp":true,"image_input":"supported","effort":false,"effort_levels":[],'
        f'"modes":["default","auto_edit","yolo"],"current_mode":"{mode}"}}}}\n'
    ).encode()


def _error(code: str, message: str) -> bytes:
    from operable.kernel.redact import redact_text

    return (
        f'{{"type":"error","error":{{"code":"{code}","message":{_quote(redact_text(message))},'
        '"retryable":false},"msg_id":null}\n'
    ).encode()


def _quote(text: "str | None") -> str:
    try:
        from _json import encode_basestring_ascii as quote
    except ImportError:  # another Python implementation
        from json.encoder import encode_basestring_ascii as quote
    return str(quote(text or ""))


def _write(stdout: int, line: bytes) -> None:
    try:
        while line:
            line = line[os.write(stdout, line) :]
    except BrokenPipeError:
        os._exit(EX_SIGPIPE)
    except OSError as problem:
        sys.stderr.write(f"operable-agent: stdout cannot be written: {problem.strerror}\n")
        sys.stderr.flush()
        os._exit(EX_IOERR)
