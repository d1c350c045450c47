"""Where the questions about calls wait: one folder per process that asks, below `<state>/gate`.

    <state>/gate/<owner>/alive      locked by the process that asks, for as long as it lives
    <state>/gate/<owner>/asks/      its questions and their answers (`operable.gate.approvals`)

Any process lists and answers them. A folder whose owner is gone is removed by the next reader: its questions have no process
that waits for an answer.
"""

import os
import shutil
import threading
import time

from operable.gate.approvals import Ask, Decision, answer_ask, pending_asks
from operable.kernel.errors import Fail
from operable.state.lock import create_locked, is_locked
from operable.state.paths import make_private, make_state, state_path

_ALIVE = "alive"
_ANSWERS_FOR = 600.0  # seconds that an answer is kept, so that a late one learns that it is late
_FOLDERS: dict[tuple[str, int], tuple[str, int]] = {}  # (root, pid) -> (folder, the descriptor of its lock)
_MUTEX = threading.Lock()


def own_folder(root: str | None = None) -> str:
    """The folder for questions of this process; made and locked on first use, and again after a fork."""
    place = make_state("gate") if root is None else make_private(root)
    key = (place, os.getpid())
    with _MUTEX:
        known = _FOLDERS.get(key)
        if known is not None and os.path.exists(os.path.join(known[0], _ALIVE)):
            _prune(known[0])
            return known[0]
        folder = make_private(os.path.join(place, f"{os.getpid()}-{os.urandom(6).hex()}"))
        try:
            _FOLDERS[key] = (folder, create_locked(os.path.join(folder, _ALIVE)))
        except OSError as error:
            raise Fail(
                "io", "STATE_UNWRITABLE", f"a question cannot be kept: {error.strerror}", target=folder
            ) from error
        return folder


def release_folder(root: str | None = None) -> None:
    """This process asks nothing any more: its folder is removed."""
    place = make_state("gate") if root is None else root
    with _MUTEX:
        known = _FOLDERS.pop((place, os.getpid()), None)
    if known is not None:
        shutil.rmtree(known[0], ignore_errors=True)
        os.close(known[1])


def waiting_questions(root: str | None = None) -> list[Ask]:
    """The questions about calls that wait for an answer, in every process; those that wait longest first."""
    found = [ask for folder in _folders(root) for ask in pending_asks(folder)]
    return sorted(found, key=lambda ask: (ask.expires_at, ask.id))


def answer_question(ask_id: str, decision: Decision, root: str | None = None) -> Ask:
    """Answer a question of any process. Fail not_found/NO_SUCH_ASK, conflict/ALREADY_ANSWERED or ASK_CHANGED."""
    for folder in _folders(root):
        if any(ask.id == ask_id for ask in pending_asks(folder)):
            return answer_ask(folder, ask_id, decision)
    raise Fail(
        "not_found", "NO_SUCH_ASK", "no such question is open", target=ask_id, hint="operable inbox list"
    )


def _folders(root: str | None) -> list[str]:
    """The folders of processes that live. Those of dead ones are removed."""
    place = state_path("gate") if root is None else root
    if place is None:
        return []
    try:
        names = sorted(os.listdir(place))
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for name in names:
        folder = os.path.join(place, name)
        try:
            alive = is_locked(os.path.join(folder, _ALIVE))
        except FileNotFoundError:
            alive = _is_new(folder)  # it is being made at this moment
        except OSError:
            continue  # not ours
        if alive:
            found.append(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return found


def _is_new(folder: str) -> bool:
    try:
        return time.time() - os.stat(folder).st_mtime < _ANSWERS_FOR
    except OSError:
        return True


def _prune(folder: str) -> None:
    """Remove old answers: a process may ask for months."""
    asks = os.path.join(folder, "asks")
    try:
        entries = [entry for entry in os.scandir(asks) if not entry.name.endswith(".ask")]
        old = [entry.path for entry in entries if time.time() - entry.stat().st_mtime > _ANSWERS_FOR]
    except OSError:
        return  # nothing was asked yet
    for path in old:
        try:
            os.unlink(path)
        except OSError:
            continue  # another thread was faster


def _forget_in_fork() -> None:
    """A fork has copies of the descriptors; holding them would keep the questions of a dead parent alive."""
    for _, descriptor in _FOLDERS.values():
        os.close(descriptor)
    _FOLDERS.clear()


os.register_at_fork(after_in_child=_forget_in_fork)
