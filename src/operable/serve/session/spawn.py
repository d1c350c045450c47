"""From what a caller asks for to the options of a start: adapter, agent, rules, credential.

A root spawn is asked for by a person or a program with a token; it may choose everything. A nested spawn is asked for by
a session: the AGENT.md that it names says adapter, mode, model and options, and rules, sandbox and hosts are those of the
parent. So no session gets more than the one that asked for it.

AGENT.md files are looked for in the user's own folder (`<config>/agents/<slug>/AGENT.md`), never in a project: what an
agent can write must not say what it may start.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

import msgspec

from operable.gate.policy.pattern import ASK
from operable.gate.policy.policy_file import load_policy, load_tables
from operable.gate.policy.rules import Policy
from operable.host.agent_cli import AgentCliHandle, agent
from operable.host.launch.places import user_agents
from operable.host.start.choices import limits_of
from operable.host.start.options import StartOptions
from operable.host.start.placement import NONE, choose_sandbox, is_unconfined, kept_home, sandbox_of
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent import AgentBinding
from operable.manifest.loader import load
from operable.manifest.patches import spawn_for, strategy_for
from operable.proc.sandbox.confinement import sandbox
from operable.serve.session.delegation import denied
from operable.state.paths import policy_path

TOKEN_VARIABLE: Final = "OPERABLE_SESSION_TOKEN"  # noqa: S105 - the name of a variable
URL_VARIABLE: Final = "OPERABLE_SERVE_URL"
_AGENT_FILE = "AGENT.md"
_SESSION_CALLER = "session:"
_AGENT_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REQUEST_FILE = "spawn.json"
# Seconds that a question waits where the policy file does not say: people look at an inbox, they do not sit at a prompt.
ASK_TIMEOUT: Final = 24 * 3600.0

# Seconds that a session without a turn keeps its process at least: people come back to it. A message resumes an ended one.
IDLE: Final = 3600.0

FindAdapter = Callable[[str, str], AgentCliHandle]
"""(name, workspace) -> an agent that may be acted on."""


Label = Annotated[str, msgspec.Meta(max_length=200, description="A name for people.")]


class SpawnRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a caller asks for. `adapter` may be left out if the `agent` says it."""

    adapter: str = ""
    agent: str | None = None
    ground: str | None = None
    cwd: str | None = None  # deprecated by AIP-46; root spawns only
    prompt: str | None = None
    label: Label | None = None
    mode: str | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    model: str | None = None
    sandbox: str | None = None
    worktree: bool | str = False  # True, or the name of its branch
    policy: str | None = None  # the path of a policy file; a caller who may name one decides what is allowed
    recover: Literal["", "native-resume", "transcript"] = (
        ""  # what a restarted daemon does with it; empty: nothing
    )


def find_adapter(name: str, workspace: str) -> AgentCliHandle:
    """The trusted manifest of this name, as `operable agent prompt` finds it."""
    return agent(name, workspace=workspace)


def known_agents() -> list[str]:
    """The slugs of the user's AGENT.md files."""
    folder = user_agents()
    try:
        names = sorted(os.listdir(folder or ""))
    except OSError:
        return []
    return [name for name in names if os.path.isfile(os.path.join(folder or "", name, _AGENT_FILE))]


def load_agent(slug: str) -> AgentBinding:
    """Fail usage/INVALID_AGENT if the file does not exist; ManifestError if it cannot be used."""
    path = os.path.join(user_agents() or "", slug, _AGENT_FILE)
    if not _AGENT_SLUG.fullmatch(slug) or not os.path.isfile(path):
        raise Fail(
            "usage",
            "INVALID_AGENT",
            f"there is no agent {slug[:100]!r}",
            target=slug[:100],
            hint=f"write {os.path.join(user_agents() or '', '<slug>', _AGENT_FILE)}",
            aip_code="invalid_agent",
        )
    return load(path, kind="agent").as_(AgentBinding)


def user_rules() -> Policy:
    """The rules for the sessions of a daemon."""
    return rules_for(_SESSION_CALLER)


def rules_for(caller: str) -> Policy:
    """The rules of the user's policy file for sessions of a caller. What no rule decides is asked about: there are people,
    who may come back tomorrow.

    Fail not_found/POLICY_NOT_FOUND or validation/POLICY_INVALID: nothing starts under rules that cannot be read.
    """
    path = policy_path()
    if path is None:
        return _patient(Policy(default=ASK))
    tables = load_tables(path)
    rules = tables.policy_for(caller)
    says_default = any(table.default is not None for table in tables.for_caller(caller))
    return _patient(rules if says_default else replace(rules, default=ASK))


def _patient(rules: Policy) -> Policy:
    return rules if rules.ask_timeout is not None else replace(rules, ask_timeout=ASK_TIMEOUT)


def root_options(request: SpawnRequest, workspace: str, rules: Policy) -> StartOptions:
    """What a root spawn chooses; `rules` are for one that names no file."""
    if request.policy is not None:
        if not os.path.isabs(request.policy):
            raise Fail(
                "usage", "POLICY_NOT_ABSOLUTE", "name the policy file by its absolute path", target="policy"
            )
        rules = _patient(load_policy(request.policy))
    return StartOptions(
        workspace=workspace,
        mode=request.mode,
        model=request.model,
        options=request.options,
        sandbox=request.sandbox,
        label=request.label,
        policy=rules,
    )


def nested_options(request: SpawnRequest, workspace: str, parent: StartOptions) -> StartOptions:
    """What a nested spawn gets: the rules, the sandbox and the hosts of its parent. Fail authz/DELEGATION_DENIED."""
    chosen = [
        name
        for name in ("mode", "model", "options", "sandbox", "policy", "worktree", "recover")
        if getattr(request, name)
    ]
    if chosen:
        text = f"a session does not choose {', '.join(chosen)} of another: its AGENT.md and the parent say it"
        raise denied(text, chosen[0])
    return StartOptions(
        workspace=workspace,
        label=request.label,
        policy=parent.policy,
        sandbox=parent.sandbox,
        egress=parent.egress,
        secret_backends=parent.secret_backends,
    )


def bound_options(options: StartOptions, binding: AgentBinding | None) -> StartOptions:
    """The options with what the AGENT.md says; the caller's own choice counts first."""
    if binding is None:
        return options
    return replace(
        options,
        mode=options.mode or binding.mode,
        model=options.model or binding.model,
        options={**binding.options, **options.options},
    )


def adapter_of(request: SpawnRequest, binding: AgentBinding | None, *, nested: bool) -> str:
    """The adapter that is started. Fail usage/ADAPTER_MISSING, authz/DELEGATION_DENIED."""
    named = request.adapter or (binding.adapter if binding else "")
    if not named:
        raise Fail("usage", "ADAPTER_MISSING", "say which adapter to start, or an agent", target="adapter")
    if nested and binding is not None and named != binding.adapter:
        raise denied(f"the agent {binding.id!r} runs in {binding.adapter!r}", named)
    return named


def check_choices(handle: AgentCliHandle, options: StartOptions, recover: str) -> None:
    """Raises Fail for what the manifest or this program does not offer. Nothing has been made for the session yet."""
    spawn_for(handle.manifest, mode=options.mode, options=options.options, model=options.model)
    if recover:
        strategy_for(handle.manifest, recover)
    if options.sandbox is not None and options.sandbox != NONE:
        try:
            sandbox(options.sandbox)
        except Fail as problem:
            message = f"there is no sandbox {options.sandbox[:80]!r}"
            raise Fail(
                "usage", "SANDBOX_PROVIDER_UNKNOWN", message, target="sandbox", hint=problem.hint
            ) from problem


def with_home(handle: AgentCliHandle, options: StartOptions) -> StartOptions:
    """A confined agent keeps a home of its own for each workspace, as `operable agent prompt` gives it."""
    if not is_confined(handle, options):
        return options
    return replace(options, home=kept_home(handle.id, options.workspace))


def with_patience(handle: AgentCliHandle, options: StartOptions) -> StartOptions:
    """An unused session ends after an hour, or later if its manifest says so: the manifest's time is for one terminal."""
    idle = limits_of(handle.manifest, options).idle
    if options.limits.idle is not None or idle is None:
        return options
    return replace(options, limits=replace(options.limits, idle=max(idle, IDLE)))


def is_confined(handle: AgentCliHandle, options: StartOptions) -> bool:
    """Whether it starts in a sandbox."""
    chosen = choose_sandbox(handle.loaded, options.sandbox, options.egress, options.workspace)
    return not is_unconfined(sandbox_of(chosen).provider)


def new_token() -> tuple[str, str]:
    """A credential for one session, and the hash that the registry knows it by."""
    token = f"opses_{secrets.token_urlsafe(32)}"
    return token, token_hash(token)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def keep_request(folder: str, request: SpawnRequest) -> None:
    """Beside the session, for a resume: everything that was asked for but the prompt, which the log has."""
    from operable.state.atomic import advise, write_whole

    data = msgspec.json.encode(msgspec.structs.replace(request, prompt=None))
    try:
        write_whole(os.path.join(folder, _REQUEST_FILE), data, durable=False)
    except OSError as error:
        message = f"the request cannot be kept: {error.strerror}"
        raise Fail("io", "STATE_UNWRITABLE", message, target=folder, hint=advise(error)) from error


def kept_request(folder: str) -> SpawnRequest | None:
    """What was asked for; None for a session that no daemon started."""
    try:
        with open(os.path.join(folder, _REQUEST_FILE), "rb") as file:
            return msgspec.json.decode(file.read(1024 * 1024), type=SpawnRequest)
    except (OSError, msgspec.MsgspecError):
        return None
