"""A person at a real shell in a terminal, who types, presses Tab, and looks at the line and the screen."""

import os
import signal
import subprocess
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from select import select
from time import monotonic

from tests.tool.drive import LIMIT

_READY = "READY>"
# What each shell reads at its start: the prompt, the script under test, and a key that writes the line as it is now.
_BEGIN = {
    "bash": r"""
PS1='READY''>'; PS2=; HISTFILE=; set -u
source "$SCRIPT"
bind 'set enable-bracketed-paste off' 'set completion-query-items -1' 'set page-completions off'
bind -x '"\C-g": printf %s "$READLINE_LINE" > "$LINE.new"; mv "$LINE.new" "$LINE"'
""",
    "zsh": r"""
PS1='READY''>'; unset zle_bracketed_paste; LISTMAX=10000; setopt no_auto_menu
autoload -Uz compinit; compinit -u -D
source "$SCRIPT"
dump() { print -rn -- "$BUFFER" > "$LINE.new"; mv "$LINE.new" "$LINE" }
zle -N dump; bindkey -e; bindkey '^G' dump
""",
    "fish": r"""
function fish_prompt; printf 'READY''>'; end
function fish_right_prompt; end
set -g fish_greeting; set -g fish_autosuggestion_enabled 0
source "$SCRIPT"
bind \cg 'printf %s (commandline) > "$LINE.new"; mv "$LINE.new" "$LINE"'
""",
}


class Shell:
    """An interactive shell with a completion script."""

    def __init__(self, name: str, script: str, folder: Path, work: Path, env: Mapping[str, str]) -> None:
        begin = folder / ".zshrc"
        begin.write_text(_BEGIN[name])
        (folder / "script").write_text(script)
        self._line = folder / "line"
        words = {
            "bash": ["bash", "--noprofile", "--rcfile", str(begin), "-i"],
            "zsh": ["zsh", "-d", "-i"],
            "fish": ["fish", "--no-config", "-i", "-C", f"source {begin}"],
        }[name]
        self._ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (50, 200))
        more = {
            "TERM": "xterm",
            "SCRIPT": str(folder / "script"),
            "LINE": str(self._line),
            "ZDOTDIR": str(folder),
        }
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec <"$TERMINAL" >"$TERMINAL" 2>&1; exec "$@"', "sh", *words],
            stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=work, start_new_session=True,
            env=dict(env) | more | {"TERMINAL": os.ttyname(theirs), "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        os.close(theirs)
        self.screen = b""
        self._until(lambda: _READY.encode() in self.screen)

    def after(self, keys: str) -> str:
        """The line after these keys; it is thrown away then. What was on the screen meanwhile is in `screen`."""
        self.screen = b""
        self._line.unlink(missing_ok=True)
        os.write(self._ours, keys.encode() + b"\x07")
        self._until(self._line.exists)
        os.write(self._ours, b"\x05\x15")  # to its end, and away with it
        return self._line.read_text()

    def enter(self, line: str) -> str:
        """What is on the screen after a line was run."""
        self.screen = b""
        os.write(self._ours, line.encode() + b"; printf 'EN''DED'\r")
        self._until(lambda: b"ENDED" in self.screen)
        return self.screen.decode("utf-8", "replace")

    def _until(self, condition) -> None:
        end = monotonic() + LIMIT
        while not condition():
            assert monotonic() < end, self.screen
            if select([self._ours], [], [], 0.02)[0]:  # what a key does need not show
                self.screen += os.read(self._ours, 65_536)

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(LIMIT)
        os.close(self._ours)


@contextmanager
def shell(name: str, script: str, folder: Path, work: Path, env: Mapping[str, str]) -> Iterator[Shell]:
    """A shell with a script, at work in a folder; it is killed at the end of the block."""
    folder.mkdir()
    made = Shell(name, script, folder, work, env)
    try:
        yield made
    finally:
        made.close()
