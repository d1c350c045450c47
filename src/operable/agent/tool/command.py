"""Running a program for a tool: in its own process group, bounded in time and output, gone when the run is cancelled.

Where a command line runs (`tree`). With `--sandbox bubblewrap` it sees the programs of the system and the workspace, and no
network. Without an option, a call that the user approved runs with the agent's rights; one that the user was not asked about
(`--auto-approve`, `--allow`) runs in an enclosure where the machine has bubblewrap: it reads the file system except
for credentials and what operable keeps, writes the workspace and an empty /tmp, uses the network, and reaches no unix
socket and no other process. `--sandbox none` is the agent's rights for all. What looks like a secret is never in its
environment.
"""

import os
from contextlib import nullcontext

from operable.agent.places import state_folder
from operable.agent.secrecy import without_secrets
from operable.agent.tool.ability import NO_SANDBOX, Scene
from operable.proc.command import PreparedCommand
from operable.proc.environment import credential_files
from operable.proc.excerpt import Excerpt
from operable.proc.run import CommandOutput, supervise
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.sandbox.enclosure import Enclosure, enclose
from operable.proc.spawn import prepare
from operable.proc.tree.escalation import Graces
from operable.state.paths import home as operable_home

_MECHANISM = "bubblewrap"
# Of the home: what lets a reader act as this user elsewhere. Keys and logins of machines, clouds, registries, databases,
# agents and browsers, and what shells remember.
_CREDENTIALS = tuple(
    """
    .ssh .gnupg .pki .netrc .authinfo .authinfo.gpg .password-store .local/share/keyrings .vault-token .config/op
    .config/Bitwarden .config/age .config/sops .config/keepassxc
    .git-credentials .config/git/credentials .config/gh .config/hub .config/glab-cli .config/tea
    .aws .azure .config/gcloud .boto .s3cfg .config/rclone .oci .config/doctl .config/hcloud .config/linode-cli .fly
    .config/scw .databrickscfg .snowflake .config/configstore .config/heroku .config/netlify .config/vercel
    .local/share/com.vercel.cli .terraform.d .terraformrc .pulumi .config/wrangler .wrangler
    .kube .docker .config/containers/auth.json .config/helm
    .npmrc .yarnrc.yml .pypirc .config/pip .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml
    .m2/settings-security.xml .gradle/gradle.properties .composer/auth.json .config/composer/auth.json .nuget/NuGet
    .config/pypoetry .cache/huggingface/token .config/huggingface .kaggle
    .pgpass .my.cnf .mylogin.cnf .mongodb .config/psql .redisclirc
    .claude .claude.json .codex .gemini .qwen .copilot .hermes .config/goose .local/share/goose .local/share/opencode
    .config/opencode .kimi .pi .config/crush .local/share/crush .config/github-copilot .continue .cursor .aider.conf.yml
    .config/io.datasette.llm .config/openai .config/anthropic
    .mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge
    .config/vivaldi .config/Slack .config/discord .config/Signal
    .bash_history .zsh_history .local/share/fish/fish_history .python_history .node_repl_history .psql_history
    .mysql_history .sqlite_history .rediscli_history .lesshst .viminfo
    """.split()
)
_STATE = ("agent", "agents", "secrets")
# Programs that would write to the home, which cannot be written to.
_CACHES = {"TMPDIR": "/tmp", "XDG_CACHE_HOME": "/tmp/.cache", "npm_config_cache": "/tmp/.npm"}  # noqa: S108 - inside
# A stopped run has a second to end; a program that does not listen gets a part of it.
_GRACES = Graces(interrupt=0.2, terminate=0.2)
_HOME = "/home/agent"  # inside a sandbox: empty, and gone with the command
_LINE = 4096  # characters of a line without an end; the user sees the end of a longer one
_HEAD = _TAIL = 128 * 1024  # more than any tool's cap, so that what is cut is cut by the cap's own rule


def run_program(
    argv: list[str], scene: Scene, *, timeout: float, tree: bool = False, stdin: bytes | None = None
) -> CommandOutput:
    """Run and wait; Fail when the program cannot be started or the sandbox is not available. `tree`: it may start others,
    which end with it, whatever they do to get away.
    """
    command = prepare(argv, cwd=scene.workspace, env=without_secrets(scene.environment))
    command = command._replace(tree=tree)
    place = choose_enclosure(scene, tree=tree)
    with place or nullcontext():
        return _ran(command if place is None else _inside(command, place), scene, timeout, stdin)


def choose_enclosure(scene: Scene, *, tree: bool) -> Enclosure | None:
    """The place in which a program of this call runs, for the caller to close; None: it has the agent's rights."""
    writable = {path: path for path in (scene.workspace, *sorted(scene.granted))}
    if scene.sandbox not in (None, NO_SANDBOX):
        strict = Confinement(cwd=scene.workspace, writable=writable, root="system", home=_HOME)
        return enclose(sandbox(scene.sandbox or ""), strict)
    mechanism = sandbox(_MECHANISM)
    if scene.sandbox == NO_SANDBOX or scene.approved or not tree or mechanism.missing() is not None:
        return None
    hidden = _hidden(scene)
    wide = Confinement(cwd=scene.workspace, writable=writable, root="host", network=True, hidden=hidden)
    return enclose(mechanism, wide)


def _inside(command: PreparedCommand, place: Enclosure) -> PreparedCommand:
    changed = {"HOME": _HOME} if place.place.root == "system" else _CACHES
    return place.wrap(command._replace(env={**command.env, **changed}))


def _hidden(scene: Scene) -> tuple[str, ...]:
    """Credentials, and what operable keeps of them, except for what contains the workspace or was granted."""
    home = os.path.expanduser("~")
    paths = [os.path.join(home, name) for name in _CREDENTIALS]
    # The vault of the host, its sessions and the homes of its agents are beside the sessions of the agent.
    beside = os.path.dirname(state_folder())
    paths += [*(os.path.join(beside, name) for name in _STATE), *credential_files(scene.environment)]
    # Approvals and audit of workflows, wherever they are: `operable.flow.home` says in which order.
    operable = operable_home(os.environ)
    places = (os.path.join(home, ".agentcli"), os.environ.get("AGENTCLI_HOME"))
    paths += [path for path in (*places, operable and os.path.join(operable, "flow")) if path]
    shown = (scene.workspace, *scene.granted)
    real = (os.path.realpath(path) for path in paths if os.path.exists(path))
    return tuple(path for path in real if not any(f"{place}/".startswith(f"{path}/") for place in shown))


def _ran(command: PreparedCommand, scene: Scene, timeout: float, stdin: bytes | None) -> CommandOutput:
    kept, err = Excerpt(_HEAD, _TAIL), Excerpt(_HEAD, _TAIL)
    watched = _Watched(scene)
    with (
        supervise(
            command,
            on_stdout=lambda chunk: watched.feed(kept, chunk),
            on_stderr=lambda chunk: watched.feed(err, chunk),
            stdin=stdin,
            timeout=timeout,
            graces=_GRACES,
        ) as run,
        scene.cancellation.waking(lambda: run.reactor.call_soon_threadsafe(run.child.cancel)),
    ):
        end = run.wait()
    return CommandOutput(kept.text().encode("utf-8"), err.text(), end, env=command.env)


class _Watched:
    """What a program prints, for the user who watches: whole lines, because half of a secret is not known as one."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._rests: dict[int, str] = {}

    def feed(self, kept: Excerpt, chunk: bytes) -> None:
        kept.feed(chunk)
        if self._scene.heard is None:
            return
        text = self._rests.get(id(kept), "") + chunk.decode("utf-8", "replace")
        whole, mark, rest = text.rpartition("\n")
        self._rests[id(kept)] = rest[-_LINE:]
        if mark:
            self._scene.heard(self._scene.call_id, self._scene.known.text(whole) + mark)
