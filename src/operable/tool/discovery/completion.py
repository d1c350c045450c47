"""Completion scripts for bash, zsh and fish, from the same declarations as everything else.

All three scripts do the same: they collect the bare words before the cursor (skipping the values of options), know by
them the command, and offer what can follow: commands, the words of a group, options, the choices of an option or an
operand, else files. All of that is in the script. The shell starts the tool only for words that exist on this machine
alone (`candidates`), and only if the tool declares some. The answer is data for the shell; its errors are not shown.
"""

from __future__ import annotations

from functools import cache

from operable.tool.arguments import standard_options
from operable.tool.discovery.candidates import ASK, kind_of, kinds
from operable.tool.discovery.help_text import parameter_help, summary
from operable.tool.kinds import DIGEST, FLAG, STANDARD, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from operable.tool.declaration import Declaration
    from operable.tool.kinds import ValueKind
    from operable.tool.signature import Command

_MODES = ["jsonl", "human", "json"]
_kinds_of = cache(kinds)


def script(tool: Declaration, shell: str) -> str:
    """The completion script for one shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](tool)


class _Option:
    __slots__ = ("asked", "choices", "flag", "takes_value", "text")

    def __init__(
        self, flag: str, *, takes_value: bool, choices: list[str], text: str = "", asked: str = ""
    ) -> None:
        self.flag = f"--{flag}"
        self.takes_value = takes_value
        self.choices = choices
        self.text = text
        self.asked = asked  # the kind of words that only this machine knows


def _commands(tool: Declaration) -> list[Command]:
    found = [tool.find(name) for name in (*tool.names(), *tool.built_in_names())]
    return [command for command in found if command is not None and not command.hidden]


def _kinds(tool: Declaration) -> dict[str, tuple[str, ...]]:
    return _kinds_of(tool.completions) if tool.completions else {}


def _options(tool: Declaration, command: Command) -> Iterator[_Option]:
    texts, known = parameter_help(command), _kinds(tool)
    for param in command.params:
        if not param.operand:
            flag = param.kind.base == "boolean"
            name = f"no-{param.flag}" if flag and param.default is True else param.flag
            yield _Option(
                name,
                takes_value=not flag,
                choices=_choices(param.kind),
                text=texts.get(param.name, ""),
                asked="" if flag else kind_of(known, command, param.name),
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


def _asked_operands(tool: Declaration, command: Command) -> list[tuple[int, str, bool]]:
    """The operands whose words the tool is asked for: place, kind, and whether all that follow are such words."""
    known = _kinds(tool)
    operands = [param for param in command.params if param.operand]
    asked = [
        (number, kind_of(known, command, param.name), param.many) for number, param in enumerate(operands)
    ]
    return [(number, kind, many) for number, kind, many in asked if kind]


def _asked_after(tool: Declaration) -> dict[str, str]:
    """Words so far, in which `*` stands for one, -> the kind of words that follow beside the commands."""
    return {place: kind for kind, places in _kinds(tool).items() for place in places if ":" not in place}


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
    lines += ["  esac", *_cases_after(tool)]
    lines.append('  case "$names " in')
    for command in sorted(commands, key=lambda command: -command.name.count(" ")):
        options = list(_options(tool, command))
        lines.append(f"    {_quoted(command.name + ' ')}*)")
        lines.append(f"      offered+=({' '.join(map(_quoted, _operand_choices(command)))})")
        lines.append(f"      flags=({' '.join(_quoted(option.flag) for option in options)})")
        if asked := _asked_operands(tool, command):
            lines.append(f"      case $((count - {command.name.count(' ') + 1})) in")
            lines += [f"        {'*' if many else number}) asked={kind} ;;" for number, kind, many in asked]
            lines.append("      esac")
        chosen = [o for o in options if (o.choices or o.asked) and o.flag[2:] not in tool.machine_flags]
        if chosen:
            lines.append('      case "$previous" in')
            for option in chosen:
                words = " ".join(map(_quoted, option.choices))
                lines.append(f"        {option.flag}) offered=({words}); asked={option.asked}; only=1 ;;")
            lines.append("      esac")
        lines.append("      ;;")
    lines.append("  esac")
    modes = "|".join(f"--{flag}" for flag in tool.machine_flags)
    lines.append(f'  case "$previous" in {modes}) offered=({" ".join(_MODES)}); asked=; only=1 ;; esac')
    return "\n".join(lines)


def _cases_after(tool: Declaration) -> list[str]:
    """The branches that know by the words so far what to ask for, the longest first: `*` matches spaces also."""
    found = sorted(_asked_after(tool).items(), key=lambda each: -each[0].count(" "))
    cases = [f"    {place.count(' ') + 1}:{_pattern(place)}) asked={kind} ;;" for place, kind in found]
    return ['  case "$count:$names" in', *cases, "  esac"] if cases else []


def _pattern(place: str) -> str:
    return "*".join(_quoted(part) if part else "" for part in place.split("*"))


def _question(tool: Declaration, words: str) -> str:
    """The call that answers for the words of this machine."""
    return f'command {_quoted(tool.invocation)} {ASK} "$asked" "$current" {words} 2>/dev/null </dev/null'


def _bash(tool: Declaration) -> str:
    commands = _commands(tool)
    return f"""{_function(tool)}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} names='' only='' index word
  local asked='' count=0 text
  local -a offered flags before found
  offered=() flags=() before=() found=() COMPREPLY=()
  # Bash cuts --option=value into three words.
  if [ "$current" = = ]; then current=''; elif [ "$previous" = = ]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=${{COMP_WORDS[index]}}
    case "$word" in
      {"|".join(_with_values(tool, commands))})
        ((index++))
        if [ "${{COMP_WORDS[index]}}" = = ]; then ((index++)); fi ;;
      -*) ;;
      *) names="$names${{names:+ }}$word"; before+=("$word"); count=$((count + 1)) ;;
    esac
  done
{_cases(tool, commands)}
  case "$current" in -*) offered=(${{flags[@]+"${{flags[@]}}"}}); asked=''; only=1 ;; esac
{_bash_question(tool)}  for word in ${{offered[@]+"${{offered[@]}}"}}; do
    case "$word" in "$current"*) found+=("$word") ;; esac
  done
  for word in ${{found[@]+"${{found[@]}}"}}; do
    # Within a quote that is still open nothing can be quoted by a backslash.
    case "$current,$word" in [\\'\\"]*[!A-Za-z0-9_./,@%+-]*) continue ;; esac
    if [ "${{BASH_VERSINFO[0]}}" -ge 4 ]; then printf -v word %q "$word"; fi
    COMPREPLY+=("$word")
  done
  # What is offered is not a file, also where a file has its name, and it is quoted already.
  if [ ${{#COMPREPLY[@]}} -gt 0 ]; then compopt +o filenames 2>/dev/null; fi
  if [ -n "$names" ] && [ -z "$only" ] && [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F {_function(tool)} {_quoted(tool.invocation)}"""


def _bash_question(tool: Declaration) -> str:
    if not tool.completions:
        return ""
    words = '${before[@]+"${before[@]}"}'
    return f"""  if [ -n "$asked" ]; then
    # Bash cuts words at : and =, so one that has them would be inserted behind its own beginning.
    while IFS=$'\\t' read -r word text; do
      case "$word" in *[:=]*) ;; *) found+=("$word") ;; esac
    done < <({_question(tool, words)})
  fi
"""


def _zsh(tool: Declaration) -> str:
    commands = _commands(tool)
    return f"""#compdef {tool.invocation}
{_function(tool)}() {{
  local current="$words[CURRENT]" previous="$words[CURRENT-1]" names='' only='' index word
  local asked='' count=0 text
  local -a offered flags before found shown
  for ((index = 2; index < CURRENT; index++)); do
    word="$words[index]"
    case "$word" in
      ({"|".join(_with_values(tool, commands))}) ((index++)) ;;
      (-*) ;;
      (*) names="$names${{names:+ }}$word"; before+=("$word"); ((count += 1)) ;;
    esac
  done
{_cases(tool, commands)}
  if [[ "$current" == -* ]]; then compadd -- "${{flags[@]}}"; return; fi
  compadd -- "${{offered[@]}}"
{_zsh_question(tool)}  if [[ -n "$names" && -z "$only" && ${{#offered}} -eq 0 && ${{#found}} -eq 0 ]]; then _files; fi
}}
(( $+functions[compdef] )) && compdef {_function(tool)} {_quoted(tool.invocation)}"""


def _zsh_question(tool: Declaration) -> str:
    if not tool.completions:
        return ""
    words = '"${before[@]}"'
    return f"""  if [[ -n "$asked" ]]; then
    while IFS=$'\\t' read -r word text; do
      found+=("$word"); shown+=("$word${{text:+  $text}}")
    done < <({_question(tool, words)})
    compadd -l -d shown -a -- found
  fi
"""


def _fish(tool: Declaration) -> str:
    commands, words = _commands(tool), f"_{_function(tool)}_words"
    complete = f"complete -c {_fish_quoted(tool.invocation)}"
    lines = [*_fish_functions(tool, commands, words)]
    for flag in tool.machine_flags:
        lines.append(f"{complete} -l {flag} -r -f -a {_fish_words(_MODES)}")
    for before, following in _following(commands).items():
        for word, text in following.items():
            condition = _fish_quoted(f"{words}_are {before}".strip())
            lines.append(f"{complete} -n {condition} -f -a {_fish_words([word])} -d {_fish_quoted(text)}")
    for place, kind in _asked_after(tool).items():
        condition = f"{words}_like -eq {place.count(' ') + 1} {_fish_quoted(place)}"
        lines += _fish_asked(complete, words, condition, kind)
    for command in commands:
        here = f"{complete} -n {_fish_quoted(f'{words}_begin {command.name}')}"
        if _operand_choices(command):
            lines.append(f"{here} -f -a {_fish_words(_operand_choices(command))}")
        for number, kind, many in _asked_operands(tool, command):
            length = command.name.count(" ") + 1 + number
            condition = f"{words}_like {'-ge' if many else '-eq'} {length} {_fish_quoted(command.name)}"
            lines += _fish_asked(complete, words, condition, kind)
        for option in _options(tool, command):
            if option.flag[2:] in tool.machine_flags:
                continue
            line = f"{here} -l {option.flag[2:]}" + (" -r" if option.takes_value else "")
            line += f" -f -a {_fish_words(option.choices)}" if option.choices else ""
            line += f" -a '({words}_ask {option.asked})'" if option.asked else ""
            lines.append(line + (f" -d {_fish_quoted(option.text)}" if option.text else ""))
    return "\n".join(lines)


def _fish_functions(tool: Declaration, commands: list[Command], words: str) -> Iterator[str]:
    """What the conditions of the lines below call."""
    yield f"""function {words}_list
  set -l skip 0; set -l found
  for word in (commandline -opc)[2..-1]
    if test $skip = 1; set skip 0; continue; end
    switch $word
      case {" ".join(_with_values(tool, commands))}; set skip 1
      case '-*'
      case '*'; set found $found $word
    end
  end
  if set -q found[1]; printf '%s\\n' $found; end
end
function {words}; set -l found ({words}_list); echo "$found"; end
function {words}_are; set -l found ({words}); test "$found" = "$argv"; end
function {words}_begin; set -l found ({words}); string match -q -- "$argv *" "$found "; end"""
    if tool.completions:
        question = f"command {_fish_quoted(tool.invocation)} {ASK} $argv[1]"
        yield f"""function {words}_like
  set -l found ({words}_list)
  test (count $found) $argv[1] $argv[2]; and string match -q -- "$argv[3] *" "$found "
end
function {words}_no_path; not string match -q -- '*/*' (commandline -ct); end
function {words}_ask
  set -l current (commandline -ct)
  {question} "$current" ({words}_list) 2>/dev/null </dev/null
end"""


def _fish_asked(complete: str, words: str, condition: str, kind: str) -> Iterator[str]:
    """Words of this machine, and no files beside them unless a path is being typed."""
    yield f"{complete} -n {_fish_quoted(condition)} -a '({words}_ask {kind})'"
    yield f"{complete} -n {_fish_quoted(f'{condition}; and {words}_no_path')} -f"


def _fish_words(words: list[str]) -> str:
    """A list of words as fish takes it: it reads the argument as code, so each word is quoted once more inside."""
    return _fish_quoted(" ".join(map(_fish_quoted, words)))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
