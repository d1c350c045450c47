"""Programs by what they do with their arguments, for the reading of command lines.

A quiet program runs nothing that is among its arguments, whatever its options are. A wrapper runs a command that is among
them. What has a few risky options is in `RISKS`; what runs something else in ways that a line does not show is in `OPAQUE`.
A program that is in no list may run its arguments: a rule that denies then looks at each word behind it.
"""

import re
from typing import Final

from operable.kernel.data_class import dataclass

OPTION_NAMES: Final = frozenset("pipefail errexit nounset xtrace noglob noclobber verbose".split())
"""Options of shells that do not change what a line runs."""
SHELLS: Final = frozenset("sh bash dash zsh ksh mksh ash fish rbash".split())
INTERPRETERS: Final = frozenset(
    "python python2 python3 perl ruby php node deno bun lua psql mysql mariadb sqlite3".split()
)
"""They run code of another language, which is not read."""
OPAQUE: Final = frozenset(
    # of shells: what changes how the rest of the line is read, or runs a text that the line does not show
    "shopt setopt unsetopt enable disable bind complete compgen compopt compdef fc history let coproc autoload zmodload zle"
    " emulate functions vared sched print getopts zcompile zstyle add-zsh-hook precmd preexec argparse"
    # programs that read commands from somewhere else, or have a language of their own for them
    " parallel entr at batch crontab ed ex vi vim view nvim emacs gdb lldb expect m4 dc socat nc ncat netcat tclsh wish"
    " osascript csh tcsh elvish nu pwsh powershell xonsh rc es osh ysh oil yash xterm ftp telnet rlwrap".split()
)
FREE: Final = frozenset(
    "strace ltrace chroot unshare nsenter flock watch script su runuser proot systemd-run fakeroot faketime"
    " eatmydata numactl cpulimit unbuffer xvfb-run gosu su-exec tini dumb-init chronic dbus-launch start-stop-daemon"
    " dbus-run-session firejail bwrap catchsegv busybox toybox setarch prlimit setpriv taskset chrt".split()
)
"""Wrappers whose options are not known: each word behind them may be the program, and each may be a script."""
QUIET: Final = frozenset(
    ": true false echo pwd cd pushd popd dirs ls dir vdir tree cat tac head tail nl od xxd hexdump strings wc"
    " uniq cut paste join comm tr fold fmt column expand rev shuf seq csplit tee grep egrep fgrep jq yq diff cmp"
    " file stat du df touch mkdir rmdir rm cp mv ln link unlink readlink realpath basename dirname mktemp chmod"
    " chown chgrp dd shred truncate sync sleep date cal uptime uname hostname id whoami who groups tty stty clear"
    " reset ps pgrep kill killall pkill fg bg disown printenv type which whereis whatis help info umask ulimit yes"
    " nproc free lsof ss ld ar nm objdump pytest ruff black isort flake8 tsc eslint prettier jest"
    " vitest rustfmt gofmt curl ping dig host nslookup gzip gunzip zcat bzip2 xz unxz zstd unzip 7z"
    " base64 md5sum sha1sum sha256sum sha512sum cksum openssl yum dnf apk pacman python python2 python3 perl"
    " ruby php node lua times caller".split()
)
"""They do not run their arguments as a command. Interpreters run what is in a file or in another language."""
RUNNERS: Final = frozenset("pnpm yarn hg svn cvs cargo".split())
"""Of those in `RISKS`: they also run a word that is not one of their own commands."""
COPIES: Final = frozenset("cp ln mv link install dd".split())
"""They give another name to a file, so that a program among their arguments counts as run."""
WRITERS: Final = COPIES | {"tee"}
"""Of the programs that write the files among their arguments: those that may write what another command then runs."""


@dataclass(frozen=True, slots=True)
class Risk:
    """Arguments that make a program run a command: letters of options, long options, whole words."""

    letters: str = ""
    long: tuple[str, ...] = ()
    words: re.Pattern[str] | None = None

    def has(self, text: str) -> bool:
        if self.words is not None and self.words.fullmatch(text):
            return True
        if text.startswith("--"):
            name = text[2:].partition("=")[0]
            return bool(name) and any(
                each.startswith(name) for each in self.long
            )  # programs take abbreviations
        cluster = re.match(r"-([A-Za-z0-9]+)", text)
        return cluster is not None and bool(set(cluster[1]) & set(self.letters))


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


_TEXT_CODE: Final = Risk(words=_words(r"(?i).*(?:\\|\.s|\bedit\b|pager|\bsystem\b|\bprogram\b|`|\|).*"))
_COMPILER: Final = Risk(
    words=_words(r"-wrapper.*|-B.*|-fplugin.*|@.*|--?specs.*|-fuse-ld.*|.*plugin.*|--?ld-path.*|-X.*")
)
_NODE: Final = Risk(
    letters="c",
    long=(
        "call",
        "script-shell",
        "shell",
        "node-options",
        "git",
        "userconfig",
        "globalconfig",
        "browser",
        "editor",
        "viewer",
    ),
    words=_words(r"exec|x|dlx|explore|config|c|set|pkg|node|create|init|innit"),
)
RISKS: Final[dict[str, Risk]] = {
    "sort": Risk(long=("compress-program",)),
    "split": Risk(long=("filter",)),
    "tar": Risk(
        "IF",
        ("to-command", "checkpoint-action", "use-compress-program", "rsh-command", "info-script", "new-volume-script",
         "rmt-command"),
        _words(r"[A-Za-z]*[IF][A-Za-z]*"),
    ),
    "rsync": Risk("e", ("rsh", "rsync-path", "config", "daemon")),
    "scp": Risk("oSFD"),
    "sftp": Risk("oSFDb"),
    "rg": Risk(long=("pre", "hostname-bin")),
    "ag": Risk(long=("pager",)),
    "ack": Risk(long=("pager", "output", "ackrc")),
    "man": Risk("PHKCr", ("prompt", "pager", "html", "preprocessor", "config-file")),
    "less": Risk("k", ("lesskey-file", "lesskey-src", "lesskey-content"), _words(r"\+.*")),
    "more": Risk(words=_words(r"\+.*")),
    "psql": _TEXT_CODE,
    "mysql": _TEXT_CODE,
    "mariadb": _TEXT_CODE,
    "sqlite3": _TEXT_CODE,
    "zip": Risk(long=("unzip-command",), words=_words(r"-[A-Za-z]*T.*")),
    "install": Risk(long=("strip-program",)),
    "gpg": Risk(
        long=("agent-program", "dirmngr-program", "keyboxd-program", "photo-viewer", "exec-path", "options"),
        words=_words(r"--.*(?:program|exec|viewer|options).*"),
    ),
    "apt": Risk("oc", ("option", "config-file")),
    "apt-get": Risk("oc", ("option", "config-file")),
    "dpkg": Risk(words=_words(r"--.*(?:invoke|root|dir|force|logger|pager).*")),
    "gh": Risk(words=_words(r"alias|extension|ext|config|--|--(?:upload-pack|config|template).*")),
    "wget": Risk("e", ("use-askpass", "execute", "config")),
    "make": Risk(
        "fE", ("eval", "file", "makefile"), _words(r".*[$`=].*")
    ),
    "ninja": Risk("f"),
    "pylint": Risk(long=("init-hook", "load-plugins", "rcfile")),
    "java": Risk(words=_words(r"-XX:.*|-J.*|-agent.*|-javaagent.*|@.*")),
    "javac": Risk(words=_words(r"-J.*|-processor.*|-Xplugin.*|@.*")),
    "brew": Risk(words=_words(r"sh|ruby|exec|irb|edit|bundle|command|--cmd.*|-e")),
    "hg": Risk(long=("config",)),
    "svn": Risk(words=_words(r"--.*(?:cmd|config).*")),
    "cvs": Risk("det", words=_words(r":ext:.*")),
    "pip": Risk(long=("python",)),
    "pip3": Risk(long=("python",)),
    "mypy": Risk(long=("python-executable",)),
    "patch": Risk("e", ("ed",)),
    "rustc": Risk(words=_words(r".*(?:link|wrapper).*|@.*")),
    "cargo": Risk("Z", ("config",), _words(r"rustc|rustdoc|.*(?:linker|wrapper).*")),
    "go": Risk(words=_words(r"--?(?:exec|toolexec|vettool|w).*|.*extld.*")),
    "cmake": Risk("EP", words=_words(r"-D.*(?:LAUNCH|COMMAND|RULE|COMPILER|PROGRAM).*|--eval.*|[^-].*=.*|.*[$`].*")),
    "npm": _NODE,
    "pnpm": _NODE,
    "yarn": _NODE,
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), _COMPILER),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WrapperForm:
    """How a program that runs its arguments takes them: options, options with a value, words before the command."""

    options: re.Pattern[str]
    valued: frozenset[str] = frozenset()
    positional: int = 0


def _wrapper(options: str, valued: str = "", positional: int = 0) -> WrapperForm:
    return WrapperForm(re.compile(options), frozenset(valued.split()), positional)


_SUDO: Final = _wrapper(r"-[nEHSbk]+|--", "-u -g")
WRAPPERS: Final[dict[str, WrapperForm]] = {
    "timeout": _wrapper(
        r"--foreground|--preserve-status|-v|-[ks][0-9A-Z]\w*|--(?:kill-after|signal)=\w+",
        "-k -s --kill-after --signal",
        1,
    ),
    "nice": _wrapper(r"-n?-?[0-9]+|--adjustment=-?[0-9]+", "-n"),
    "ionice": _wrapper(r"-[cnt][0-9]*", "-c -n"),
    "nohup": _wrapper(r"--"),
    "setsid": _wrapper(r"-[wfc]+|--wait|--fork"),
    "stdbuf": _wrapper(r"-[ioe][0-9L]+|--(?:input|output|error)=[0-9L]+", "-i -o -e"),
    "time": _wrapper(r"-[pv]|--"),
    "command": _wrapper(r"-p|--"),
    "builtin": _wrapper(r"--"),
    "exec": _wrapper(r"-[cl]+|--", "-a"),
    "noglob": _wrapper(r"(?!)"),
    "nocorrect": _wrapper(r"(?!)"),
    "-": _wrapper(r"(?!)"),
    **dict.fromkeys(("and", "or", "not", "begin"), _wrapper(r"(?!)")),  # words of fish
    "sudo": _SUDO,
    "doas": _SUDO,
    "env": _wrapper(r"-i?|--ignore-environment|--", "-u -C"),
    "xargs": _wrapper(r"-[0rtx]+|-[nPLds][^-\s].*|--null|--no-run-if-empty", "-n -P -L -d -a -s"),
}

_HARMLESS_NAME: Final = re.compile(
    r"TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|LANG|LANGUAGE|LC_\w+|TZ|COLUMNS|LINES|CI"
)
# Of other names, those that programs take commands, options or places of code from.
_RISKY_NAME: Final = re.compile(
    r".*(?:PATH|ENV|IFS|COMMAND|OPT|PAGER|EDIT|VISUAL|BROWSER|SHELL|PRELOAD|LESS|BASH|ZDOT|START|HOOK|CMD|INIT|FLAGS|EXEC"
    r"|ASKPASS|SSH|GIT|CONFIG|ALIAS|FUNC|OPTIONS|PROMPT|AUDIT|RUNNER|WRAPPER|LAUNCHER|COMPILER|LINKER|RSH|TERMINFO|TERMCAP"
    r"|HELPER|DRIVER|ENGINE|PLUGIN).*|.*PROG(?:RAM)?|.*(?:DIFF|MERGE|TOOL)|RUSTC|RUSTDOC"
    r"|PS[0-9]|LD_.*|DYLD_.*|HOME|CC|CXX|LD|AR|MAKE\w*|.*RC|ARGV0|commands|NULLCMD|READNULLCMD|MODULE_PATH|PERL5\w*",
    re.IGNORECASE,
)
_KNOWN_NAMES: Final = frozenset(
    "NODE_ENV RAILS_ENV APP_ENV PYTHONPATH GIT_PAGER_IN_USE GIT_TERMINAL_PROMPT DJANGO_SETTINGS_MODULE".split()
)
# What most environments have anyway; agents repeat it before every command.
_USUAL_SETTING: Final = re.compile(r"SHELL=(?:/usr)?/bin/(?:ba|da|z)?sh")


def is_presentation(name: str) -> bool:
    """Whether a variable only changes how output looks."""
    return _HARMLESS_NAME.fullmatch(name) is not None


def is_usual_setting(setting: str | None) -> bool:
    """Whether a setting says only what programs find in most environments."""
    return _USUAL_SETTING.fullmatch(setting or "") is not None


_INTEGERS: Final = frozenset(
    "SECONDS RANDOM OPTIND HISTSIZE SAVEHIST COLUMNS LINES UID EUID GID EGID SHLVL TMOUT KEYTIMEOUT LISTMAX MAILCHECK"
    " FUNCNEST ERRNO TTYIDLE PPID LINENO BAUD HISTCMD DIRSTACKSIZE LOGCHECK PERIOD".split()
)


def is_integer_name(name: str) -> bool:
    """Whether a shell computes what is set for a variable of this name: it runs the substitutions in an index."""
    return name in _INTEGERS


def is_risky_name(name: str) -> bool:
    """Whether a program or a shell may take something to run from a variable of this name."""
    return name not in _KNOWN_NAMES and not is_presentation(name) and _RISKY_NAME.fullmatch(name) is not None
