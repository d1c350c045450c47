"""The blocks that manifests are made of, as frozen values: install, setup, auth, sandbox, runner and the rest.

A field is called as in the file (a trailing underscore where Python reserves the word: `global_`, `pass_`); a block or list
that is absent is its default, so that readers never ask twice. Values are made by `operable.manifest.load`, which has
validated them; a block made by hand is not validated. Nothing here does anything but hold.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Block(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of a manifest. Comparable, immutable, rendered without what equals its default."""


# --- install, version_check, requires (AIP-29)

PACKAGE_METHODS = ("apt", "brew", "cargo", "choco", "dnf", "go", "npm", "pacman", "pip", "scoop")
INSTALL_METHODS = (*PACKAGE_METHODS, "curl", "download", "vendored")


class Install(Block, frozen=True, kw_only=True, rename={"global_": "global"}):
    """One way to install the program; which fields are set follows from `method`."""

    method: str
    """One of INSTALL_METHODS, or an unknown one marked `experimental`, which a host skips."""
    package: str | None = None
    url: str | None = None
    extract_bin: str | None = None
    path: str | None = None
    verify_sha256: str | None = None
    global_: bool = False
    user: bool = False
    experimental: bool = False


class VersionCheck(Block, frozen=True, kw_only=True):
    cmd: str
    """The complete command; bin_args are not put before it (point 3 of the decision on manifest contradictions)."""
    parse: str
    range: str
    timeout_ms: int = 5000


class Requires(Block, frozen=True, kw_only=True):
    os: tuple[str, ...] = ()
    arch: tuple[str, ...] = ()
    min_disk_mb: int | None = None
    min_memory_mb: int | None = None


# --- setup (AIP-29): four kinds of steps


class SkipIf(Block, frozen=True, kw_only=True):
    cmd: str
    exit_code: int = 0
    timeout_ms: int = 5000


class Persist(Block, frozen=True, kw_only=True):
    """Where a step's result goes: exactly one is set."""

    env: str | None = None
    secret_slug: str | None = None
    cmd: str | None = None


class CmdStep(Block, frozen=True, kw_only=True, tag_field="kind", tag="cmd"):
    id: str
    cmd: str
    description: str = ""
    skip_if: SkipIf | None = None
    timeout_ms: int = 60_000
    interactive: bool = False
    persist: Persist | None = None


class OptionsCmd(Block, frozen=True, kw_only=True):
    """A command whose lines of output are the choices, each `value` or `value<tab>label`."""

    cmd: str
    timeout_ms: int = 30_000


class PromptStep(Block, frozen=True, kw_only=True, tag_field="kind", tag="prompt"):
    id: str
    prompt: str
    description: str = ""
    type: Literal["text", "select", "boolean", "secret"] = "text"
    default: str | None = None
    options: tuple[str, ...] | OptionsCmd = ()
    skip_if: SkipIf | None = None
    persist: Persist | None = None


class OauthStep(Block, frozen=True, kw_only=True, tag_field="kind", tag="oauth"):
    id: str
    secret_slug: str
    description: str = ""
    skip_if: SkipIf | None = None


class Callback(Block, frozen=True, kw_only=True):
    param: str | None = None
    timeout_ms: int = 600_000


class ExternalStep(Block, frozen=True, kw_only=True, tag_field="kind", tag="external"):
    id: str
    url: str
    description: str = ""
    callback: Callback | None = None
    skip_if: SkipIf | None = None
    persist: Persist | None = None


SetupStep = CmdStep | PromptStep | OauthStep | ExternalStep


# --- auth (AIP-29)


class AuthState(Block, frozen=True, kw_only=True):
    paths: tuple[str, ...] = ()
    env: tuple[str, ...] = ()


class CompletesWhen(Block, frozen=True, kw_only=True):
    cmd: str
    exit_code: int = 0


class Login(Block, frozen=True, kw_only=True):
    cmd: str
    interactive: bool = False
    requires_callback_url: bool = False
    completes_when: CompletesWhen | None = None


class Refresh(Block, frozen=True, kw_only=True):
    cmd: str
    every: str | None = None
    """An ISO-8601 duration; `operable.manifest.durations.seconds` reads it."""


class Expiry(Block, frozen=True, kw_only=True):
    detect: str | None = None

    @property
    def exit_code(self) -> int | None:
        """The exit code that means "logged out"."""
        return int(self.detect.removeprefix("exit_code:")) if self.detect else None


class Auth(Block, frozen=True, kw_only=True):
    ref: str | None = None
    """Path of a SECRETS.md, inside the workspace."""
    state: AuthState = AuthState()
    login: Login | None = None
    refresh: Refresh | None = None
    expiry: Expiry | None = None


# --- sandbox as agents have it (AIP-36)


class SandboxLimits(Block, frozen=True, kw_only=True):
    """Caps per command. Absent means the mechanism's default (30 s for a sandbox)."""

    timeout_ms: int | None = None
    memory_mb: int | None = None
    cpu_ms: int | None = None


class SandboxAuthState(Block, frozen=True, kw_only=True):
    env: tuple[str, ...] = ()


class SandboxAuth(Block, frozen=True, kw_only=True):
    ref: str | None = None
    state: SandboxAuthState = SandboxAuthState()


class SandboxEnv(Block, frozen=True, kw_only=True):
    auth: SandboxAuth | None = None
    passthrough: tuple[str, ...] = ()


class Network(Block, frozen=True, kw_only=True):
    egress: tuple[str, ...] = ()
    """Host names or globs that may be reached; empty is none."""


class MountSource(Block, frozen=True, kw_only=True):
    """Exactly one is set."""

    ref: str | None = None
    inline: dict[str, Any] | None = None
    file: str | None = None


class Mount(Block, frozen=True, kw_only=True):
    source: Literal["workspace"] | MountSource
    at: str
    """Absolute and normalised: no `.`, `..` or doubled slash."""
    mode: Literal["read-write", "read-only"] = "read-write"


class SandboxLifecycle(Block, frozen=True, kw_only=True):
    pause_after_idle: str | None = None
    destroy_on: str | None = None


class SandboxBlock(Block, frozen=True, kw_only=True):
    """An AIP-36 block, inline or from a SANDBOX.md (then with `id` and `version`)."""

    provider: str
    config: dict[str, Any]
    schema: str | None = None
    id: str | None = None
    version: str | None = None
    limits: SandboxLimits = SandboxLimits()
    env: SandboxEnv = SandboxEnv()
    network: Network = Network()
    mounts: tuple[Mount, ...] = ()
    identity: Any = None
    policy: Any = None
    lifecycle: SandboxLifecycle = SandboxLifecycle()
    read_only: bool = False
    metadata: dict[str, Any] = {}


# --- sandbox as tool CLIs have it (AIP-29)


class ToolNetwork(Block, frozen=True, kw_only=True):
    egress: tuple[str, ...] = ()
    ingress: tuple[str, ...] = ()


class ToolFiles(Block, frozen=True, kw_only=True):
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ToolExec(Block, frozen=True, kw_only=True):
    allow: bool
    spawn: tuple[str, ...] = ()


class ToolEnv(Block, frozen=True, kw_only=True, rename={"pass_": "pass"}):
    pass_: tuple[str, ...] = ()
    set: dict[str, str] = {}


class ToolTty(Block, frozen=True, kw_only=True):
    required: bool = False


class ToolSandbox(Block, frozen=True, kw_only=True, omit_defaults=False):
    """An AIP-29 block. A bundle has to say every part of it, so all parts are written, empty or not."""

    network: ToolNetwork = ToolNetwork()
    fs: ToolFiles = ToolFiles()
    exec: ToolExec = ToolExec(allow=False)
    env: ToolEnv = ToolEnv()
    tty: ToolTty = ToolTty()


# --- runner (AIP-17)


class Needs(Block, frozen=True, kw_only=True):
    language: Literal["node", "python", "multi"] | None = None
    native: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()


class Runner(Block, frozen=True, kw_only=True):
    engine: Literal["subprocess", "sandbox", "in-process"] = "subprocess"
    image: str | None = None
    needs: Needs = Needs()
    limits: SandboxLimits = SandboxLimits()


# --- secrets a manifest consumes (AIP-19)


class SecretBinding(Block, frozen=True, kw_only=True):
    """Where the value of one variable comes from: exactly one is set."""

    vault: str | None = None
    oauth: str | None = None
    value: str | None = None
