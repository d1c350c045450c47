"""Whether the program of a manifest is logged in, per (bundle, workspace, user), and how that changes.

    unknown not checked yet
    unauthed checked, or reported by the program (expiry), or a refresh failed: starting fails with the login command
    logging-in  a login runs; one that was interrupted counts as unauthed
    authed      `completes_when` or the declared state says so, or a login succeeded; refreshed when its time has come

Checking is cheap and never asks a user: variables that are given, files that exist, and `completes_when` when the state is
not `authed`. After an expiry a file counts only when it has changed since. Nothing here ever shows what a login holds.
"""

import os
import threading
import time
from collections.abc import Mapping

from operable.host.launch.installer import InstallProgress, Report
from operable.host.launch.ledger import AuthState, Ledger, Scope
from operable.host.launch.login.callback import Receiver
from operable.host.launch.places import Places, exclusive
from operable.host.launch.process import CommandSurroundings, judge, run
from operable.host.launch.step import Person
from operable.host.launch.words import references
from operable.kernel.canonical import digest
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.blocks import Auth, CompletesWhen, Login
from operable.manifest.durations import seconds
from operable.proc.terminal import Feed

# A person logs in with a browser and a second factor.
LOGIN_TIMEOUT = 600.0
REFRESH_TIMEOUT = 60.0
# Asking the program whether it is logged in: agents need seconds to start.
PROBE_TIMEOUT = 30.0
_PROBE_INTERVAL = 1.0


@dataclass(frozen=True, slots=True)
class Authentication:
    """The login of one manifest. `given` are the variables that the program will get, secrets among them."""

    name: str
    auth: Auth | None
    scope: Scope
    places: Places
    ledger: Ledger
    surroundings: CommandSurroundings
    given: Mapping[str, str]
    person: Person | None = None
    report: Report = lambda _: None
    stop: threading.Event | None = None

    def look(self) -> AuthState:
        """The state now, by everything that can be asked without a person; what was found is remembered."""
        if self.auth is None:
            return "authed"
        record = self.ledger.login(self.scope)
        known = record.state == "authed"
        evidence = self._evidence(since=record.since if record.state == "unauthed" else 0.0)
        completes = self.auth.login.completes_when if self.auth.login else None
        if known:
            state: AuthState = "unauthed" if evidence is False and completes is None else "authed"
        elif evidence or (completes is not None and self._holds(completes)):
            state = "authed"
        else:
            # A manifest that only names its secrets leaves nothing to look at: the code that delivers them knows.
            nothing_to_ask = evidence is None and self.auth.login is None
            state = "authed" if nothing_to_ask else "unauthed"
        if state != record.state:
            self.ledger.login_is(self.scope, state)
        return state

    def evidence(self) -> str:
        """By which variable or file it is known that a user is logged in; empty: by neither."""
        state = self.auth.state if self.auth else None
        if state is None:
            return ""
        found = [name for name in state.env if self.given.get(name)]
        found += [path for path in state.paths if self._changed(path) > 0]
        return ", ".join(found)

    def require(self) -> None:
        """Fail auth_required unless logged in; refreshes when it is time. Never asks a user."""
        if self.look() != "authed":
            raise self.required()
        self._refresh()

    def ensure(self) -> None:
        """Like `require`, but lets the person log in, if there is one."""
        if self.look() != "authed":
            if self.person is None or self.auth is None or self.auth.login is None:
                raise self.required()
            self.login()
        self._refresh()

    def login(self) -> None:
        """Run the login command, whatever the state is, and wait until it is complete."""
        login = self.auth.login if self.auth else None
        if login is None:
            raise Fail(
                "usage",
                "LOGIN_NOT_DECLARED",
                f"the manifest of {self.name} declares no login",
                target=self.name,
            )
        terminal = self.person.terminal if self.person else None
        if login.interactive and terminal is None:
            raise self.required("its login needs a person at a terminal")
        self.report(InstallProgress("login", f"logging in: {login.cmd}"))
        self.ledger.login_is(self.scope, "logging-in")
        deadline = time.monotonic() + LOGIN_TIMEOUT
        try:
            self._run_login(login)
            self._await_completion(login.completes_when, deadline)
        except BaseException:
            self.ledger.login_is(self.scope, "unauthed")
            raise
        self.ledger.login_is(self.scope, "authed")

    def expired(self, exit_status: int | None) -> bool:
        """To learn how the program ended: True when that means that the login has expired."""
        expiry = self.auth.expiry if self.auth else None
        if expiry is None or exit_status is None or expiry.exit_code != exit_status:
            return False
        self.ledger.login_is(self.scope, "unauthed")
        return True

    def required(self, why: str = "") -> Fail:
        """The failure that says how to log in."""
        login = self.auth.login if self.auth else None
        variables = ", ".join(self.auth.state.env) if self.auth else ""
        return Fail(
            "authn",
            "AUTH_REQUIRED",
            f"{self.name} is not logged in" + (f": {why}" if why else ""),
            target=self.name,
            hint=f"operable agent login {self.name}" if login else f"provide {variables or 'its secrets'}",
            aip_code="auth_required",
            login_command=login.cmd if login else None,
        )

    # --- looking

    def _evidence(self, *, since: float) -> bool | None:
        """Do the declared variables or files say that a user is logged in? None: none are declared."""
        state = self.auth.state if self.auth else None
        if state is None or not (state.env or state.paths):
            return None
        return any(self.given.get(name) for name in state.env) or any(
            self._changed(path) > since for path in state.paths
        )

    def _changed(self, path: str) -> float:
        """When the file was written; minus infinity: it is not there."""
        home = self.given.get("HOME", os.environ.get("HOME", ""))
        if path == "~" or path.startswith("~/"):
            path = home + path[1:]
        try:
            return os.stat(os.path.join(self.surroundings.cwd, path)).st_mtime
        except OSError:
            return float("-inf")

    def _holds(self, condition: CompletesWhen) -> bool:
        try:
            done = self.surroundings.ask(condition.cmd, timeout=PROBE_TIMEOUT)
        except Fail as fail:
            if fail.category == "cancelled":
                raise
            return False
        return done.status == condition.exit_code

    # --- changing

    def _refresh(self) -> None:
        refresh = self.auth.refresh if self.auth else None
        if refresh is None or refresh.every is None:
            return
        every = seconds(refresh.every)
        if not self._due(every):
            return
        name = self.places.lock(f"auth-{digest(list(self.scope))[7:39]}")
        with exclusive(name, timeout=2 * REFRESH_TIMEOUT, what=f"refreshing {self.name}", stop=self.stop):
            if not self._due(every):
                return  # another host has just done it
            self.report(InstallProgress("refresh", "refreshing the login"))
            try:
                done = self.surroundings.run(refresh.cmd, timeout=REFRESH_TIMEOUT)
                why = None if done.status == 0 else f"its refresh ended with {done.status}"
            except Fail as fail:
                if fail.category == "cancelled":
                    raise
                why = f"its refresh failed: {fail.message}"
            if why is not None:
                self.ledger.login_is(self.scope, "unauthed")
                raise self.required(why)
            self.ledger.login_is(self.scope, "authed")

    def _due(self, every: float) -> bool:
        refreshed = self.ledger.login(self.scope).refreshed_at
        return refreshed is None or self.ledger.clock() - refreshed >= every

    def _run_login(self, login: Login) -> None:
        if not (login.requires_callback_url or "callback_url" in references(login.cmd)):
            return self._run_command(login, {}, None)
        with Receiver() as receiver:

            def come_back() -> bytes | None:
                answer = receiver.answer
                return None if answer is None else f"{answer}\n".encode()

            return self._run_command(login, {"callback_url": receiver.url}, come_back)

    def _run_command(self, login: Login, values: Mapping[str, str], feed: Feed | None) -> None:
        variables = {"OPERABLE_CALLBACK_URL": values["callback_url"]} if values else {}
        surroundings = self.surroundings.with_env(variables)
        command = surroundings.command(login.cmd, values)
        terminal = self.person.terminal if self.person else None
        if login.interactive and terminal is not None:
            end = surroundings.converse(command, terminal, timeout=LOGIN_TIMEOUT, feed=feed)
            judge(end, command, LOGIN_TIMEOUT)
            status = end.status
        else:
            status = run(command, timeout=LOGIN_TIMEOUT, stop=self.stop, feed=feed).status
        if status != 0:
            # What a login prints may be the login: nothing of it is repeated.
            raise self.required(f"its login ended with {status}; run {login.cmd!r} yourself to see why")

    def _await_completion(self, condition: CompletesWhen | None, deadline: float) -> None:
        """A login command may return while a person is still in the browser."""
        waiting = self.stop or threading.Event()
        while condition is not None and not self._holds(condition):
            if time.monotonic() >= deadline:
                raise self.required("its login was not completed in time")
            if waiting.wait(_PROBE_INTERVAL):
                raise Fail("cancelled", "STOPPED", "the login was stopped")
