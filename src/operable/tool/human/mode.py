"""Human mode: the same run, shown to a person. Loaded only there; uses rich when it is installed, plain text otherwise.

Results of one type become a table whose rows appear in blocks, a document is printed as it is, notices and the
closing line go to stderr so that a redirected stdout contains only results.
"""

from __future__ import annotations

import io
import os
import sys

from operable.tool.human.cells import cell, visible
from operable.tool.records import json_text
from operable.tool.secrecy import masked, shown_error
from operable.tool.writer import OutputLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from operable.kernel.errors import Fail
    from operable.tool.arguments import ParsedCall
    from operable.tool.declaration import Declaration
    from operable.tool.writer import Emitter

# Rows are shown in blocks: enough to align columns, few enough that a slow command is seen to move.
BLOCK = 50
# Sign and colour of a check: by its severity if it failed. A sign that warns must not look like one that refuses.
_PASSED = ("✓", "green")
_FAILED = {"error": ("✗", "red"), "warning": ("!", "yellow"), "info": ("-", "cyan")}


class PeopleSink:
    """Tables, colour and prose."""

    def __init__(
        self, tool: Declaration, call: ParsedCall, secrets: tuple[str, ...], on_lost: Callable[[int], object]
    ) -> None:
        self.secrets = secrets
        self._on_lost = on_lost  # the exit code when nothing can be shown any more, before anything unwinds
        self.emitter: Emitter | None = None
        self.put = self._event
        self._tool = tool
        self._command = call.command
        self._wanted: Sequence[str] = call.command.columns
        self._compact = "compact" in call.options
        if "fields" in call.options:
            from operable.tool.run.reduction import top_level

            self._wanted = top_level(call.options["fields"])
        self._rows: list[dict[str, Any]] = []
        self._columns: list[str] | None = None
        self._kind = ""  # the type of the rows
        self._results = 0
        self._prose = False  # running text was shown, of which nothing is to be counted
        self._open_line = False  # that text has not ended its last line
        if sys.__stdout__ is None:
            raise OSError("stdout is closed")
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a locale that lacks a letter must not end the command
                stream.reconfigure(errors="backslashreplace")
        plain = bool(call.options.get("no-color")) or bool(os.environ.get("NO_COLOR"))
        self._screen = _screen(plain=plain)

    def encoder(self, kind: type[Any]) -> Any:  # noqa: ARG002 - every class looks the same to people
        return lambda event: self.encode(event.to_dict())

    def encode(self, event: dict[str, Any]) -> dict[str, Any]:
        return masked(event, self.secrets) if self.secrets else event

    def size(self, encoded: dict[str, Any]) -> int:
        return len(json_text(encoded).encode("utf-8", "replace")) + 1

    def meta(self, fields: dict[str, Any]) -> None:
        """A person knows what they called."""

    def results(self) -> int:
        return self._results

    def _event(self, event: dict[str, Any]) -> None:
        self._results += 1
        if event["type"] == "discovery_document":
            self._document(event.get("name"), event["content"])
            return
        if self._kind != event["type"]:
            self._show_rows()
            self._kind, self._columns = event["type"], None
        self._rows.append(event)
        if len(self._rows) >= BLOCK or self._command.unbounded:
            self._show_rows()

    def notice(self, fields: dict[str, Any]) -> None:
        self._show_rows()
        fields = self.encode(fields)
        kind = fields["type"].removeprefix("aoi:")
        if kind == "progress":
            self._screen.progress(fields | {"message": cell(fields.get("message", ""))})
        elif kind == "check":
            severity = str(fields.get("severity"))
            sign, style = _PASSED if fields["ok"] else _FAILED.get(severity, _FAILED["error"])
            self._print(f"{sign} {fields['name']}: {fields.get('detail', '')}", style)
            if not fields["ok"] and fields.get("hint"):
                self._print(f"  hint: {fields['hint']}", "cyan")
        elif kind == "plan":
            details = {k: v for k, v in fields.items() if k not in ("type", "action", "target")}
            long = {
                k: v for k, v in details.items() if isinstance(v, dict) or (isinstance(v, str) and "\n" in v)
            }
            brief = _brief({k: v for k, v in details.items() if k not in long})
            self._print(f"would {fields['action']} {fields.get('target', '')} {brief}".rstrip(), "yellow")
            for name, value in long.items():
                for line in _lines(name, value):
                    self._print(f"  {line}")
        else:
            self._aside(f"{kind}: {fields.get('message', '')}", "yellow")

    def error(self, fail: Fail) -> None:
        self._show_rows()
        shown = shown_error(fail, self.secrets)
        message, target = shown["message"], shown.get("target")
        if target and target not in message and target not in (shown.get("hint") or ""):
            # "No such file or directory" alone does not help.
            message = f"{message}: {target}" if os.sep in target else f"{message} ({target})"
        if text := self._missing_command(fail):  # not a mistake of the person: this is how one begins
            self._aside(text, "")
            return
        self._aside(f"{self._tool.name}: {message}", "bold red")
        for problem in shown.get("problems", [])[1:]:
            self._aside(f"  also: {_problem(problem)}", "red")
        if shown.get("hint"):
            self._aside(f"  hint: {shown['hint']}", "cyan")

    def _missing_command(self, fail: Fail) -> str:
        """The help that a person needs who named no command, or only the first word of several."""
        group = fail.target or ""
        if fail.code == "MISSING_COMMAND" or (fail.code == "UNKNOWN_COMMAND" and self._tool.is_group(group)):
            from shutil import get_terminal_size

            from operable.tool.discovery.help_text import fitted
            from operable.tool.discovery.overview import group_help, overview

            text = group_help(self._tool, group) if group else overview(self._tool)
            return fitted(text, get_terminal_size().columns)
        return ""

    def summary(self, fields: dict[str, Any]) -> None:
        self._show_rows()
        self._screen.end()
        text = self._closing_line(fields)
        if text or fields.get("message"):
            self._end_line()
        if text:
            self._aside(text, "dim")
        if fields.get("message"):
            self._aside(cell(fields["message"]), "green" if fields["ok"] else "bold red")
        self.close()

    def _closing_line(self, fields: dict[str, Any]) -> str:
        nothing_to_count = not fields["count"] and (not fields["ok"] or self._says_its_end(fields))
        if self._command.document or self._prose or nothing_to_count:
            return str(fields.get("reason", ""))
        parts = [_extent(fields)]
        if fields.get("plan_digest"):
            parts.append(f"apply exactly this with --confirm {fields['plan_digest']}")
        if fields.get("replayed"):
            parts.append("recorded earlier under this key, not done again")
        if fields.get("reason"):
            parts.append(str(fields["reason"]))
        return "; ".join(parts)

    def _says_its_end(self, fields: dict[str, Any]) -> bool:
        """Whether this is a service, which has no list of results, and its message is what a person wants to know."""
        return self._command.limit is None and bool(fields.get("message"))

    def prose(self, text: str, style: str) -> None:
        """Running text: shown as it comes, with no line end of our own."""
        self._show_rows()
        self._screen.end()  # a bar is drawn below whole lines, and would be drawn into these
        self._prose = True
        shown = visible(self.encode({"text": text})["text"])
        self._write(self._screen.prose, shown, style)
        self._open_line = not shown.endswith("\n") if shown else self._open_line
        self.close()

    def settle(self) -> None:
        """Show what has come so far, though the block is not full."""
        self._show_rows()
        self.close()

    def complain(self, text: str) -> None:
        self._tell(text, "bold red")

    def close(self) -> None:
        self._write(sys.stdout.flush)

    def _aside(self, text: str, style: str) -> None:
        self.close()  # what came before is to be seen before
        self._tell(text, style)

    def _tell(self, text: str, style: str) -> None:
        try:
            self._screen.aside(visible(text), style)
        except OSError:
            return  # stderr has no reader: the results and the exit code have to do

    def _write(self, write: Callable[..., object], *what: Any, **how: Any) -> None:
        try:
            write(*what, **how)
        except OSError as failure:
            self._screen.end()
            lost = OutputLost(failure)
            self._on_lost(lost.exit_code)
            raise lost from failure

    def _end_line(self) -> None:
        """Whatever follows running text begins on a line of its own."""
        if self._open_line:
            self._open_line = False
            self._write(self._screen.prose, "\n", "")

    def _document(self, name: Any, content: Any) -> None:
        if isinstance(content, str):
            if name == "help" and sys.stdout.isatty():
                from shutil import get_terminal_size

                from operable.tool.discovery.help_text import fitted

                content = fitted(content, get_terminal_size().columns)
            self._print(content)
            return
        import json

        self._print(json.dumps(content, indent=2, ensure_ascii=False))

    def _show_rows(self) -> None:
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        # A result that lacks what is empty does not say which columns the others have.
        columns = self._chosen(
            dict.fromkeys(name for row in rows for name in row) if self._compact else rows[0]
        )
        header = self._columns is None or (self._compact and not set(columns) <= set(self._columns))
        if header or self._columns is None:
            self._columns = columns
        cells = [[self._screen.cell(name, row.get(name)) for name in self._columns] for row in rows]
        self._end_line()
        self._write(self._screen.table, self._columns, cells, header=header)
        self.close()

    def _chosen(self, names: Iterable[str]) -> list[str]:
        """The columns that are wanted of these, or all of them."""
        names = list(names)
        wanted = [name for name in self._wanted if name in names]
        return wanted or [name for name in names if name != "type"] or ["type"]

    def _print(self, text: str, style: str = "") -> None:
        self._end_line()
        self._write(self._screen.show, visible(text), style)


def _problem(problem: Any) -> str:
    """One of several problems: a text, or where it is and what it is."""
    if not isinstance(problem, dict):
        return str(problem)
    if not problem.get("message"):
        return _brief(problem)
    place = [cell(problem[name]) for name in ("path", "line", "target") if problem.get(name)]
    return f"{':'.join(place)} {cell(problem['message'])}".strip()


def _brief(details: dict[str, Any]) -> str:
    return " ".join(f"{name}={cell(value)}" for name, value in details.items() if value is not None)


def _lines(name: str, value: Any) -> Iterator[str]:
    """A value with values inside, one a line by its path, and a text in its own lines; an empty one has nothing to say."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(f"{name}.{key}", inner)
    elif isinstance(value, str) and "\n" in value:
        yield f"{name}:"
        yield from (f"  {line}" for line in value.splitlines())
    elif value not in (None, "", []):
        yield f"{name}: {cell(value)}"


def _screen(*, plain: bool) -> Any:
    """Rich if the output is a terminal; it takes its time to load, and a pipe has no use for it."""
    from operable.tool.human.plain import PlainScreen

    watched = any(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))
    if watched or os.environ.get("FORCE_COLOR"):
        from operable.tool.human.rich import RichScreen

        try:
            return RichScreen(plain=plain)
        except ImportError:  # the extra `people` is not installed
            return PlainScreen()
    return PlainScreen()


def _extent(fields: dict[str, Any]) -> str:
    """How many results there are, and whether these are all."""
    count = fields["count"]
    if fields.get("dry_run"):
        return f"{count} planned"
    if not fields["truncated"]:
        return f"{count} in all" if count else "none"
    cursor = fields["next_cursor"]
    return f"{count} shown, more with " + (f"--cursor {cursor}" if cursor else "a higher --limit")
