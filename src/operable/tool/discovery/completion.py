"""Completion scripts for bash, zsh and fish, from the same declarations as everything else.

The scripts are static: the shell never starts the tool to complete a word. All three do the same: they collect the bare
words before the cursor (skipping the values of options), know by them the command, and offer what can follow: commands,
the words of a group, options, the choices of an option or an operand, else files.
"""

from __future__ import annotations

from operable.tool.arguments import standard_options
from operable.tool.discovery.help_text import parameter_help, summary
from operable.tool.kinds import DIGEST, FLAG, STANDARD, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from operable.tool.declaration import Declaration
    from operable.tool.kinds import ValueKind
    from operable.tool.signature import Command

_MODES = ["jsonl", "human", "json"]


def script(tool: Declaration, shell: str) -> str:
    """The completion script for one shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](tool)


class _Option:
    __slots__ = ("choices", "flag", "takes_value", "text")

    def __init__(self, flag: str, *, takes_value: bool, choices: list[str], text: str = "") -> None:
        self.flag = f"--{flag}"
        self.takes_value = takes_value
        self.choices = choices
        self.text = text


def _commands(tool: Declaration) -> list[Command]:
    found = [tool.find(name) for name in (*tool.names(), *tool.built_in_names())]
    return [command for command in found if command is not None and not command.hidden]


def _options(tool: Declaration, command: Command) -> Iterator[_Option]:
    texts = parameter_help(command)
    for param in command.params:
        if not param.operand:
            flag = param.kind.base == "boolean"
            name = f"no-{param.flag}" if flag and param.default is True else param.flag
            yield _Option(
                name, takes_value=not flag, choices=_choices(param.kind), text=texts.get(param.name, "")
            )
    for name in standard_options(tool, command):
        if name in tool.machine_flags:
            yield _Option(name, takes_value=True, choices=_MODES)
        else:
            yield _Option(name, takes_value=STANDARD[name] not in (FLAG, DIGEST), choices=[])


def _choices(kind: ValueKind) -> list[str]:
    if kind.base == "array" and kind.item is not None:
        return _choices(kind.item)
    return [spelled(choice) for choice in kind.choices]


def _operand_choices(command: Command) -> list[str]:
    return [choice for param in command.params if param.operand for choice in _choices(param.kind)]


def _following(commands: list[Command]) -> dict[str, dict[str, str]]:
    """Words so far -> what may come next, with a summary: {"": {"shelf": "…"}, "shelf": {"list": "…"}}."""
    found: dict[str, dict[str, str]] = {"": {}}
    for command in commands:
        first, _, second = command.name.partition(" ")
        if second:
            found.setdefault(first, {})[second] = summary(command)
            found[""].setdefault(first, f"{first} …")
        else:
            found[""][first] = summary(command)
    return found


def _with_values(tool: Declaration, commands: list[Command]) -> list[str]:
    """Every option that takes a value, of whatever command: its value is not one of the words that name the command."""
    flags = [option.flag for command in commands for option in _options(tool, command) if option.takes_value]
    return list(dict.fromkeys(flags))


def _function(tool: Declaration) -> str:
    return "_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in tool.invocation)


def _cases(tool: Declaration, commands: list[Command]) -> str:
    """The part that bash and zsh share: what may follow, by the words before, as case branches that fill `offered`."""
    lines = ['  case "$names" in']
    for words, following in _following(commands).items():
        lines.append(f"    {_quoted(words)}) offered=({' '.join(map(_quoted, following))}) ;;")
    lines.append("  esac")
    lines.append('  case "$names " in')
    for command in sorted(commands, key=lambda command: -command.name.count(" ")):
        options = list(_options(tool, command))
        lines.append(f"    {_quoted(command.name + ' ')}*)")
        lines.append(f"      offered+=({' '.join(map(_quoted, _operand_choices(command)))})")
        lines.append(f"      flags=({' '.join(_quoted(option.flag) for option in options)})")
        chosen = [o for o in options if o.choices and o.flag[2:] not in tool.machine_flags]
        if chosen:
            lines.append('      case "$previous" in')
            for option in chosen:
                words = " ".join(map(_quoted, option.choices))
                lines.append(f"        {option.flag}) offered=({words}); only=1 ;;")
            lines.append("      esac")
        lines.append("      ;;")
    lines.append("  esac")
    modes = "|".join(f"--{flag}" for flag in tool.machine_flags)
    lines.append(f'  case "$previous" in {modes}) offered=({" ".join(_MODES)}); only=1 ;; esac')
    return "\n".join(lines)


def _bash(tool: Declaration) -> str:
    commands = _commands(tool)
    return f"""{_function(tool)}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} names='' only='' index word
  local -a offered flags
  offered=() flags=() COMPREPLY=()
  # Bash cuts --option=value into three words.
  if [ "$current" = = ]; then current=''; elif [ "$previous" = = ]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=${{COMP_WORDS[index]}}
    case "$word" in
      {"|".join(_with_values(tool, commands))})
        ((index++))
        if [ "${{COMP_WORDS[index]}}" = = ]; then ((index++)); fi ;;
      -*) ;;
      *) names="$names${{names:+ }}$word" ;;
    esac
  done
{_cases(tool, commands)}
  case "$current" in -*) offered=(${{flags[@]+"${{flags[@]}}"}}); only=1 ;; esac
  for word in ${{offered[@]+"${{offered[@]}}"}}; do
    case "$word" in "$current"*) COMPREPLY+=("$word") ;; esac
  done
  if [ -n "$names" ] && [ -z "$only" ] && [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F {_function(tool)} {_quoted(tool.invocation)}"""


def _zsh(tool: Declaration) -> str:
    commands = _commands(tool)
    return f"""#compdef {tool.invocation}
{_function(tool)}() {{
  emulate -L zsh
  local current="$words[CURRENT]" previous="$words[CURRENT-1]" names='' only='' index word
  local -a offered flags
  for ((index = 2; index < CURRENT; index++)); do
    word="$words[index]"
    case "$word" in
      ({"|".join(_with_values(tool, commands))}) ((index++)) ;;
      (-*) ;;
      (*) names="$names${{names:+ }}$word" ;;
    esac
  done
{_cases(tool, commands)}
  if [[ "$current" == -* ]]; then compadd -- "${{flags[@]}}"; return; fi
  compadd -- "${{offered[@]}}"
  if [[ -n "$names" && -z "$only" && ${{#offered}} -eq 0 ]]; then _files; fi
}}
(( $+functions[compdef] )) && compdef {_function(tool)} {_quoted(tool.invocation)}"""


def _fish(tool: Declaration) -> str:
    commands, words = _commands(tool), f"_{_function(tool)}_words"
    complete = f"complete -c {_fish_quoted(tool.invocation)}"
    lines = [
        f"function {words}",
        "  set -l skip 0; set -l found",
        "  for word in (commandline -opc)[2..-1]",
        "    if test $skip = 1; set skip 0; continue; end",
        "    switch $word",
        f"      case {' '.join(_with_values(tool, commands))}; set skip 1",
        "      case '-*'",
        "      case '*'; set found $found $word",
        "    end",
        "  end",
        '  echo "$found"',
        "end",
        f'function {words}_are; set -l found ({words}); test "$found" = "$argv"; end',
        f'function {words}_begin; set -l found ({words}); string match -q -- "$argv *" "$found "; end',
    ]
    for flag in tool.machine_flags:
        lines.append(f"{complete} -l {flag} -r -f -a {_fish_words(_MODES)}")
    for before, following in _following(commands).items():
        for word, text in following.items():
            condition = _fish_quoted(f"{words}_are {before}".strip())
            lines.append(f"{complete} -n {condition} -f -a {_fish_words([word])} -d {_fish_quoted(text)}")
    for command in commands:
        here = f"{complete} -n {_fish_quoted(f'{words}_begin {command.name}')}"
        if _operand_choices(command):
            lines.append(f"{here} -f -a {_fish_words(_operand_choices(command))}")
        for option in _options(tool, command):
            if option.flag[2:] in tool.machine_flags:
                continue
            line = f"{here} -l {option.flag[2:]}" + (" -r" if option.takes_value else "")
            line += f" -f -a {_fish_words(option.choices)}" if option.choices else ""
            lines.append(line + (f" -d {_fish_quoted(option.text)}" if option.text else ""))
    return "\n".join(lines)


def _fish_words(words: list[str]) -> str:
    """A list of words as fish takes it: it reads the argument as code, so each word is quoted once more inside."""
    return _fish_quoted(" ".join(map(_fish_quoted, words)))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
