"""No orphans, also when the host is killed with SIGKILL: a warden ends the groups that the host can no longer end.

Theory of operation. The first spawn of a host starts one tiny `/bin/sh` (about a millisecond, concurrent with the tool;
none per call) that reads group ids from a pipe: "+ 42" is to be watched, "- 42" is not. Only the host holds the writing
end. When the host ends, however it ends, the warden reads end-of-file, sends SIGTERM to the groups still on its list,
SIGKILL a second later, and exits. PR_SET_PDEATHSIG would not do: it follows the thread that forked, is cleared for
grandchildren, and needs code between fork and exec, which is unsafe in a threaded host.

A host that runs one program at a time can also mark it ("= 1f… 57…"): with a word that no other process has in its
environment, and a number that no other process has as a resource limit (`orphans`). Every process that carries either is
also ended, in whatever group and session it is. They are looked for after the host's end only.

Limits: a host killed within the millisecond between the fork and the "+" line leaves that child to the closing of its
pipes; a descendant that made a session of its own has left the group. A sandbox with its own pid namespace (not here) has
none of these limits. Without /bin/sh there is no warden, and `Warden.active` says so.
"""

import os
from _thread import allocate_lock  # `threading` costs a short call more than all of this

from operable.kernel.errors import Fail

_SHELL = "/bin/sh"
# The list is kept as " 12 34 "; ids are numbers that we wrote, nothing else is ever interpolated.
_SCRIPT = """
trap '' HUP INT TERM
live=' ' mark= limit=
while read -r sign id more; do
  case $sign in
    +) live="$live$id " ;;
    -) case $live in *" $id "*) live="${live%%" $id "*} ${live#*" $id "}" ;; esac ;;
    =) mark=$id limit=$more ;;
  esac
done
[ "$live$mark" = ' ' ] && exit
end() {
  for id in $live; do kill -"$1" -"$id"; done
  [ "$mark" ] || return
  for id in $(grep -lsaF -- "$mark" /proc/[0-9]*/environ; grep -lsF -- " ${limit:-no limit} " /proc/[0-9]*/limits); do
    id=${id#/proc/} id=${id%/*}
    [ "$id" = $$ ] || kill -"$1" "$id"  # the limits of the host are also ours
  done
}
end TERM
sleep 1
end KILL
[ "$mark" ] && end KILL
"""


class Warden:
    """The host's end: `watch` a group when it is started, `release` it when it is gone. Thread-safe."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._pipe: int | None = None
        self._pid: int | None = None
        self._watched: set[int] = set()
        self._mark = ""  # and the limit behind it

    @property
    def active(self) -> bool:
        """Is a warden running? False before the first spawn, and on a system without /bin/sh."""
        return self._pipe is not None

    @property
    def pid(self) -> int | None:
        return self._pid

    def watch(self, group: int) -> None:
        with self._lock:
            self._watched.add(group)
            if self._pipe is None:
                self._start()
            else:
                self._tell(f"+ {group}\n")

    def release(self, group: int) -> None:
        with self._lock:
            self._watched.discard(group)
            if self._pipe is not None:
                self._tell(f"- {group}\n")

    def mark(self, word: str, limit: int | None = None) -> None:
        """Each process that has this word in its environment, or this number among its limits, when the host is gone, is
        to be ended; "": no process any more.
        """
        with self._lock:
            self._mark = word if limit is None else f"{word} {limit}"
            if self._pipe is not None:
                self._tell(f"= {self._mark}\n")

    def forget(self) -> None:
        """In a fork of the host: the parent keeps the warden, this copy must not hold its pipe open."""
        if self._pipe is not None:
            os.close(self._pipe)
        self._lock = allocate_lock()
        self._pipe = self._pid = None
        self._watched = set()
        self._mark = ""

    def _tell(self, line: str) -> None:
        try:
            # A pipe takes a short line whole or not at all.
            os.write(self._pipe, line.encode())  # type: ignore[arg-type]
        except (BrokenPipeError, BlockingIOError):
            # Killed or stopped by another process: it can no longer be trusted. A new one gets the whole list.
            self._drop()
            self._start()

    def _drop(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
        if self._pid is not None:
            try:
                os.kill(self._pid, 9)
                os.waitpid(self._pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        self._pipe = self._pid = None

    def _start(self) -> None:
        if not os.path.exists(_SHELL):
            return
        reading, writing = os.pipe()
        try:
            self._pid = os.posix_spawn(
                _SHELL,
                ["sh", "-c", _SCRIPT],
                {"PATH": "/usr/bin:/bin"},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, reading, 0),
                    # Not the host's own output: a caller that waits for that to close must not wait for the warden.
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setpgroup=0,
            )
        except OSError as error:
            os.close(writing)
            raise Fail("temporary", "SPAWN_FAILED", f"cannot start the warden: {error.strerror}") from error
        finally:
            os.close(reading)
        os.set_blocking(writing, False)
        self._pipe = writing
        if self._mark:
            self._tell(f"= {self._mark}\n")
        for group in self._watched:
            self._tell(f"+ {group}\n")


WARDEN = Warden()
os.register_at_fork(after_in_child=WARDEN.forget)
