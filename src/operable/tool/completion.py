"""Completion scripts for bash, zsh and fish, from the same declarations as everything else.

The scripts are static: the shell never starts the tool to complete a word.
"""

from __future__ import annotations

from operable.tool.arguments import standard_options
from operable.tool.declare import BUILT_IN, Tool
from operable.tool.help_text import _summary


def script(tool: Tool, shell: str) -> str:
    """The completion script for one shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](tool)


def _words(tool: Tool) -> dict[str, list[str]]:
    """Every command with the flags it understands."""
    found: dict[str, list[str]] = {}
    for name in (*tool.names(), *BUILT_IN):
        command = tool.find(name)
        if command is not None and not command.hidden:
            own = [f"--{param.flag}" for param in command.params if not param.operand]
            found[name] = [*own, *(f"--{option}" for option in standard_options(tool, command))]
    return found


def _function(tool: Tool) -> str:
    return "_" + "".join(c if c.isalnum() else "_" for c in tool.name)


def _bash(tool: Tool) -> str:
    commands = _words(tool)
    cases = "\n".join(
        f"    {_quoted(name)}) words={_quoted(' '.join(flags))} ;;" for name, flags in commands.items()
    )
    return f"""{_function(tool)}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {_quoted(" ".join(commands))} -- "$current")); return
  fi
  case $command in
{cases}
  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F {_function(tool)} {tool.name}"""


def _zsh(tool: Tool) -> str:
    commands = _words(tool)
    described = " ".join(_quoted(f"{name}:{_summary(tool, name)}") for name in commands)
    cases = "\n".join(
        f"    {_quoted(name)}) compadd -- {' '.join(flags)} ;;" for name, flags in commands.items()
    )
    return f"""#compdef {tool.name}
{_function(tool)}() {{
  local -a commands=({described})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case $words[2] in
{cases}
  esac
  _files
}}
compdef {_function(tool)} {tool.name}"""


def _fish(tool: Tool) -> str:
    lines = []
    for name, flags in _words(tool).items():
        lines.append(
            f"complete -c {tool.name} -n __fish_use_subcommand -f -a {_quoted(name)} -d {_quoted(_summary(tool, name))}"
        )
        condition = _quoted(f"__fish_seen_subcommand_from {name}")
        lines += [f"complete -c {tool.name} -n {condition} -l {flag[2:]}" for flag in flags]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
