"""The environment of a child is an allow-list: what is not named here or by the caller does not reach it.

A host's environment contains its owner's secrets (cloud keys, tokens of other tools, a debugger's settings). A tool needs a
search path, a home, a locale, a clock zone, a place for temporary files, and what its caller gives it knowingly.

`secret_values` says which of the values that a child gets must not come back in what it prints. Where a variable
contains the path of a file with credentials, these are the secrets in the file (`kernel.redact.credentials`).
"""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.state.paths import home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Enough for a program to find its own files and to format text and time; none of them carries a secret by convention.
DEFAULT_ALLOWED = ("PATH", "HOME", "LANG", "LC_*", "TZ", "TMPDIR", "TERM", "USER", "LOGNAME")


def environment(
    extra: Mapping[str, str] | None = None,
    *,
    inherit: Iterable[str] = (),
    source: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The variables a child gets: the default ones and those named in `inherit` from `source`, then `extra` over them.

    `inherit` takes names, or prefixes written `OUTLINE_*`. `source` is the host's own environment unless given.
    """
    ambient = os.environ if source is None else source
    exact: set[str] = set()
    prefixes: list[str] = []
    for name in (*DEFAULT_ALLOWED, *inherit):
        if name.endswith("*"):
            prefixes.append(name[:-1])
        else:
            exact.add(name)
    allowed_prefixes = tuple(prefixes)
    chosen = {
        name: value
        for name, value in ambient.items()
        if name in exact or (allowed_prefixes and name.startswith(allowed_prefixes))
    }
    for name, value in (extra or {}).items():
        if not name or "=" in name or "\0" in name or "\0" in value or not is_encodable(name + value):
            raise Fail(
                "usage",
                "ENVIRONMENT_INVALID",
                f"not a valid environment variable name or value: {name!r}",
                target=name,
            )
        chosen[name] = value
    if root := home(chosen):
        chosen["OPERABLE_HOME"] = root  # a relative one would mean another place in another working directory
    return chosen


def secret_values(variables: Mapping[str, str], *, given: bool = False) -> list[str]:
    """The values to mask: of variables with a secret name, passwords in addresses, tokens by their shape.

    A path to something that exists stays readable: what the file contains is secret, not its name. `given`: the caller chose
    these variables for this child, so a value that looks generated counts also.
    """
    from operable.kernel.redact.names import is_secret_name
    from operable.kernel.redact.shapes import has_shape

    found: list[str] = []
    for name, value in variables.items():
        if "//" in value:
            # Its patterns are compiled for those alone who have an address in a variable.
            from operable.kernel.redact.urls import passwords

            found += passwords(value)
        generated = has_shape(value) or (given and _is_generated(value))
        secret = is_secret_name(name) and not (value.isalpha() and len(value) < _WORD)
        if (secret or name in _PATHS) and (files := _existing(name, value)):
            from operable.kernel.redact.credentials import read_credentials

            found += (each for path in files for each in read_credentials(path))
        elif (secret or generated) and not (os.path.isabs(value) and os.path.lexists(value)):
            found.append(value)
            scheme, space, rest = value.partition(" ")
            if space and scheme.lower() in _SCHEMES:  # of a header
                found.append(rest.strip())
            if value.lstrip()[:1] == "{" or "\n" in value:  # a whole file, as in DOCKER_AUTH_CONFIG
                from operable.kernel.redact.credentials import secrets_of

                found += secrets_of(value)
    return found


def _existing(name: str, value: str) -> list[str]:
    """The path that a value is, if there is such a file; KUBECONFIG and its like may have a list of them."""
    paths = value.split(os.pathsep) if name in _PATHS else [value]
    return [path for path in paths if os.path.isabs(path) and os.path.lexists(path)]


def names_files(name: str) -> bool:
    """Whether a variable of this name has the path of a file with settings and credentials: KUBECONFIG, AWS_CONFIG_FILE."""
    return name in _PATHS


def loads_code(name: str) -> bool:
    """Whether a variable of this name makes programs load or run what its value names: LD_PRELOAD, NODE_OPTIONS, EDITOR."""
    import re

    return re.fullmatch(_LOADERS, name) is not None


_LOADERS = (
    r"LD_.*|DYLD_.*|PYTHON(PATH|HOME|STARTUP|USERBASE|INSPECT|BREAKPOINT|WARNINGS|PLATLIBDIR|PYCACHEPREFIX|EXECUTABLE)"
    r"|NODE_(PATH|OPTIONS|REPL_EXTERNAL_MODULE)|NPM_CONFIG_.*|npm_config_.*|BUN_(OPTIONS|INSPECT.*)|DENO_DIR"
    r"|RUBY(OPT|LIB)|GEM_(PATH|HOME)|BUNDLE_.*|PERL5(LIB|OPT|DB|SHELL)|PERLLIB|(JDK_)?JAVA_(TOOL_)?OPTIONS|_JAVA_OPTIONS"
    r"|(MAVEN|GRADLE|SBT|ANT)_OPTS|CLASSPATH|LUA_(PATH|CPATH|INIT).*|PHP_INI_SCAN_DIR|PHPRC|GCONV_PATH|TCLLIBPATH"
    r"|R_(PROFILE|ENVIRON|LIBS).*|JULIA_(LOAD_PATH|DEPOT_PATH)|ERL_.*FLAGS|ERL_LIBS|DOTNET_STARTUP_HOOKS|COR(ECLR)?_.*"
    r"|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|IFS|ZDOTDIR|PROMPT_COMMAND|PS4|MAKEFLAGS|GOFLAGS|GNUMAKEFLAGS"
    r"|RUSTC(_WORKSPACE)?(_WRAPPER)?|CARGO_BUILD_.*|OPENSSL_(CONF|MODULES|ENGINES)|GTK_(MODULES|PATH)|QT_PLUGIN_PATH"
    r"|(SSH|SUDO)_ASKPASS|EDITOR|VISUAL|(MAN)?PAGER|LESS(OPEN|CLOSE)|BROWSER|VIMINIT|EXINIT|EMACSLOADPATH"
    r"|GIT_(CONFIG.*|EXEC_PATH|DIR|SSH.*|EXTERNAL_DIFF|PAGER|(SEQUENCE_)?EDITOR|ASKPASS|PROXY_COMMAND|TEMPLATE_DIR)"
)


def credential_files(variables: Mapping[str, str]) -> list[str]:
    """The files with credentials that variables name by their paths."""
    from operable.kernel.redact.names import is_secret_name

    return [
        path
        for name, value in variables.items()
        if name in _PATHS or is_secret_name(name)
        for path in _existing(name, value)
        if os.path.isfile(path)
    ]


# Variables with the path of a file that contains secrets, whose names do not say so.
_PATHS = frozenset(
    (
        *(
            "AWS_CONFIG_FILE",
            "AZURE_CLIENT_CERTIFICATE_PATH",
            "BOTO_CONFIG",
            "KUBECONFIG",
            "NETRC",
            "PGPASSFILE",
        ),
        *(
            "NPM_CONFIG_USERCONFIG",
            "npm_config_userconfig",
            "PIP_CONFIG_FILE",
            "RCLONE_CONFIG",
            "TF_CLI_CONFIG_FILE",
        ),
    )
)
_SCHEMES = ("bearer", "basic", "token")
# A shorter value of letters alone is a word (`yes`, `none`, `true`) that would be masked all over.
_WORD = 8
_GENERATED = 12


def _is_generated(value: str) -> bool:
    """Whether it has letters and digits, is long, and is neither an address nor a path nor a text."""
    return (
        len(value) >= _GENERATED
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not any(map(str.isspace, value))
        and "://" not in value
        and not value.startswith(("/", "./", "~"))
    )


def is_encodable(text: str) -> bool:
    """Whether this can be handed to a program at all: a lone surrogate, as JSON can spell one, has no bytes."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True
