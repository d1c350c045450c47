"""An agent on a provider's machine: what of a manifest can go there, and what must be true before it does.

The machine is made for the session and ends with it (`operable.proc.remote`). So the program is not installed here but part
of what the machine is made from, and its version is asked there, on a machine of its own. Steps of `setup` and commands of
`auth` would change this machine and not that one: a manifest with such steps is refused, and a login is known by its
variables only. One process per turn would be one machine per turn, without what the turn before has left: also refused.
"""

from collections.abc import Callable, Mapping, Sequence

from operable.host.arm import Arm
from operable.host.launch.process import run
from operable.host.launch.readiness import ReadyProgram
from operable.host.launch.version import Version, find, in_range, mismatch
from operable.host.launch.words import line
from operable.host.start.secret_delivery import Delivered
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, redact_text
from operable.manifest.blocks import SandboxBlock
from operable.manifest.kinds.agent_cli import AgentCli
from operable.proc.command import PreparedCommand
from operable.proc.sandbox.confinement import Confinement, ResourceLimits, Tunnel

# Making a machine takes seconds, and minutes where its image is not at hand yet.
MACHINE_TIMEOUT = 180.0
_KEY_REFERENCES = ("api_key_ref", "api_token_ref")
_Command = Callable[[Sequence[str], Mapping[str, str], str | None], PreparedCommand]  # as started there


def key_reference(block: SandboxBlock) -> str | None:
    """The secret that contains the provider's key, when the manifest names one."""
    return next((str(block.config[name]) for name in _KEY_REFERENCES if block.config.get(name)), None)


def place_elsewhere(
    block: SandboxBlock,
    mounts: tuple[dict[str, str], dict[str, str], str],
    delivered: Delivered,
    home: str | None,
    credential: str | None,
) -> Confinement:
    """The sandbox block as a confinement on another machine. What that cannot hold, its provider refuses."""
    if delivered.substitutes:
        raise Fail(
            "config",
            "SECRET_EXPOSURE_INVALID",
            "egress-substitute needs the host's own proxy, and that machine does not use it",
            target=block.provider,
        )
    readable, writable, cwd = mounts
    egress = block.network.egress
    return Confinement(
        cwd=cwd,
        writable=writable | ({} if home is None else {"~": home}),
        readable=readable,
        contents=delivered.files,
        root="elsewhere",
        limits=ResourceLimits(
            cpu_ms=block.limits.cpu_ms,
            memory_mb=block.limits.memory_mb,
            timeout_ms=block.limits.timeout_ms,
        ),
        tunnel=Tunnel("", 0, (), egress) if egress else None,
        config={name: value for name, value in block.config.items() if name not in _KEY_REFERENCES},
        credential=credential,
    )


def admit(manifest: AgentCli, arm: Arm, logged_in: bool) -> None:
    """Fail when this manifest cannot run on another machine."""
    if arm.per_turn:
        raise _refused(
            manifest, "it is one process for each turn, and would be a new machine without memory each time"
        )
    if manifest.setup:
        raise _refused(manifest, "its setup steps would set up this machine and not that one")
    if manifest.auth is not None and not logged_in:
        variables = ", ".join(manifest.auth.state.env)
        raise Fail(
            "authn",
            "AUTH_REQUIRED",
            f"{manifest.name} is not logged in: on another machine only its variables count",
            target=manifest.name,
            hint=f"provide {variables or 'its secrets'}",
            aip_code="auth_required",
            login_command=None,
        )


def ready_elsewhere(manifest: AgentCli, command: _Command, known: Known) -> ReadyProgram:
    """Ask the program for its version where it will run; Fail version_mismatch. Blocking."""
    block = manifest.version_check
    text = block.cmd.strip()
    argv = line(f"{manifest.bin} {text}" if text.startswith("-") else text).argv
    timeout = MACHINE_TIMEOUT + block.timeout_ms / 1000
    done = run(command(argv, {}, None), timeout=timeout)
    found = find(block.parse, done.text, done.stderr)
    if found is None:
        said = " ".join(redact_text(done.stderr, known).split())[-300:]
        why = f"{block.cmd!r} (status {done.status}) printed no version on that machine: {said}"
        raise mismatch(manifest.name, manifest.bin, Version(None, fits=False, why=why))
    if not in_range(found, block.range):
        why = f"it is {found} on that machine; the manifest wants {block.range}"
        raise mismatch(manifest.name, manifest.bin, Version(found, fits=False, why=why))
    return ReadyProgram(manifest.bin, {}, found)


def _refused(manifest: AgentCli, why: str) -> Fail:
    return Fail(
        "config",
        "SANDBOX_CANNOT_ENFORCE",
        f"{manifest.name} cannot run on another machine: {why}",
        target=manifest.name,
        hint="use the provider bubblewrap",
    )
