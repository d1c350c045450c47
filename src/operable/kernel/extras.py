"""Packages that are not installed: which extra of `operable` has them, and the one error that says so.

`operable/__init__.py` puts a finder behind every other one. It is asked only for what no other finder knows. When code
of ours imports a module of the table, it raises `ExtraMissingError`. So every command and every function of the API answers
the same way, wherever the import is. The error is a `ModuleNotFoundError` also: code that goes on without a package catches
`ImportError` as ever.

The table says what each extra of pyproject.toml is imported as; a test compares the two.
"""

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

# Module -> extra. "" is the base install, which lacks one only after `--no-deps` or half an upgrade.
EXTRAS: dict[str, str] = {
    "cronsim": "",
    "cryptography": "",
    "joserfc": "",
    "jsonschema_rs": "",
    "msgspec": "",
    "prompt_toolkit": "",
    "regress": "",
    "rich": "",
    "ruamel": "",
    "semantic_version": "",
    "anyio": "mcp",
    "httpx2": "mcp",
    "mcp": "mcp",
    "starlette": "serve",
    "uvicorn": "serve",
    "wsproto": "serve",
    "acp": "agent",
    "anthropic": "agent",
    "openai": "agent",
    "boto3": "bedrock",
    "google.auth": "vertex",
    "dbos": "engine",
    "sqlalchemy": "engine",
    "psycopg": "postgres",
    "opentelemetry": "otel",
    "botocore": "aws",
    "cedarpy": "cedar",
    "regopy": "rego",
    "jc": "jc",
    "keyring": "keyring",
    "temporalio": "temporal",
    "langchain_core": "langchain",
    "pydantic_ai": "pydantic-ai",
    "agents": "openai-agents",
    "claude_agent_sdk": "claude-agent",
    "e2b": "e2b",
    "modal": "modal",
    "daytona": "daytona",
    "blaxel": "blaxel",
}


class ExtraMissingError(Fail, ModuleNotFoundError):
    """A package that this needs is not installed. The hint is the line that installs it."""

    def __init__(self, module: str, extra: str) -> None:
        package = module.partition(".")[0] if module not in EXTRAS else module
        Fail.__init__(
            self,
            "config",
            "EXTRA_MISSING",
            f"this needs the package {package}, which is not installed",
            hint=install_hint(extra),
            target=package,
        )
        self.name = module
        self.msg = self.message


def install_hint(extra: str) -> str:
    """The line that installs an extra where this runs, and any shell takes as it is."""
    import os
    import sys

    wanted = f"'operable[{extra}]'" if extra else "operable"
    # uv and pipx leave a file in the environment that they made; another pip would install into another one.
    if os.path.exists(f"{sys.prefix}/uv-receipt.toml"):
        return f"uv tool install {wanted}"
    if os.path.exists(f"{sys.prefix}/pipx_metadata.json"):
        return f"pipx runpip operable install {wanted}"
    return f"pip install {wanted}"


def extra_of(module: str) -> str | None:
    """The extra that a module or a module inside it comes with; None for what is not ours to know."""
    while module:
        if module in EXTRAS:
            return EXTRAS[module]
        module = module.rpartition(".")[0]
    return None


def installed(module: str) -> bool:
    """Whether it can be imported, found out without importing it."""
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def require(*modules: str) -> None:
    """Raises ExtraMissingError for the first that is not installed, before anything begins that would need it."""
    for module in modules:
        if not installed(module):
            raise ExtraMissingError(module, EXTRAS[module])


def refuse_missing(module: str, frame: "FrameType | None") -> None:
    """Raises ExtraMissingError if code of ours imports a module of the table. `frame` is the caller of the finder."""
    extra = extra_of(module)
    if extra is None:
        return
    while frame is not None:
        importer = frame.f_globals.get("__name__", "")
        # `find_spec` is a question, and None is its answer.
        if importer == "importlib.util":
            return
        if not importer.startswith(("importlib", "_frozen_importlib")):
            break
        frame = frame.f_back
    if frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "operable":
        raise ExtraMissingError(module, extra)
