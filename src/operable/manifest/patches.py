"""What a choice of mode, options, model and continuation does to a spawn: arguments, environment, and every refusal at once.

Patches are put together in the order of AIP-45: the manifest's `bin_args`, then the mode, then the options as the manifest
declares them (not as the caller names them). An option that has its default patches nothing; an undeclared default of a
boolean is false. `{value}` is replaced in one pass and never read again, whatever the value contains.

A chosen model goes through the option `model` where the manifest has one; otherwise the protocol arm has to set it
(`Spawn.model`). `models.env` names the variables that contain the keys of its providers; the values come from the
secrets, not from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from operable.kernel.catalogue import nearest
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.rules.agent_blocks import ModeBlock, Models, OptionBlock

_VALUE = "{value}"
_MODEL = "model"

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


class Refusal(NamedTuple):
    """One thing that cannot be chosen. `target` is what was named: `mode`, `options.max_turns`, `model`."""

    code: str
    target: str
    message: str
    hint: str | None = None


class SelectionError(Fail):
    """A choice that the manifest does not offer; `refusals` has all of them."""

    def __init__(self, refusals: Iterable[Refusal]) -> None:
        self.refusals = tuple(refusals)
        codes = {refusal.code for refusal in self.refusals}
        first = self.refusals[0]
        super().__init__(
            "usage",
            codes.pop() if len(codes) == 1 else "SELECTION_INVALID",
            "; ".join(refusal.message for refusal in self.refusals),
            hint=first.hint,
            target=first.target,
            problems=[
                {key: value for key, value in refusal._asdict().items() if value} for refusal in self.refusals
            ],
        )


class Spawn(NamedTuple):
    """What to start the program with."""

    args: tuple[str, ...]
    """After the program's name."""
    env: dict[str, str]
    model: str | None
    """The model that is meant: chosen, else the manifest's default."""
    model_by_protocol: bool
    """Whether the arm has to set the model, because no option does."""
    model_variables: tuple[str, ...]
    """The variables that contain the keys of the model's provider."""


def spawn_for(
    manifest: AgentCli,
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> Spawn:
    """Arguments and environment for this choice; SelectionError has everything that is wrong with it."""
    chosen = dict(options or {})
    refusals: list[Refusal] = []
    picked = _mode(manifest, mode, refusals)
    by_option = _put_model(manifest, model, chosen, refusals)
    refusals += _refused_options(manifest, chosen)
    if refusals:
        raise SelectionError(refusals)
    args = [*manifest.bin_args, *(picked.bin_args_append if picked else ())]
    env = dict(picked.env) if picked else {}
    for option in manifest.options:
        value = chosen.get(option.id, option.default)
        if value is not None:
            _apply(option, value, args, env)
    meant = model or _text(chosen.get(_MODEL)) or manifest.models.default
    variables = tuple(_variables(manifest.models, meant))
    return Spawn(tuple(args), env, meant, model is not None and not by_option, variables)


def option_from_text(option: OptionBlock, text: str) -> bool | int | str:
    """A value as people type it (`--option max_turns=5`); a value that is neither number nor boolean stays text, and its
    type is refused later.
    """
    if option.type == "boolean":
        return _BOOLEANS.get(text.lower(), text)
    digits = text.removeprefix("-")
    # No option needs more digits, and Python refuses to read thousands of them.
    is_integer = option.type == "integer" and digits.isascii() and digits.isdigit() and len(text) < 20
    return int(text) if is_integer else text


def strategy_for(manifest: AgentCli, chosen: str | None = None) -> str:
    """The continuation strategy: as chosen, when the manifest supports it, else the manifest's default, else `none`."""
    if manifest.continuation is None:
        supported: tuple[str, ...] = ("none",)
        default = "none"
    else:
        supported, default = manifest.continuation.supported, manifest.continuation.default
    if chosen is None:
        return default
    if chosen not in supported:
        message = f"the continuation {chosen[:80]!r} is not supported by {manifest.id}"
        hint = f"supported: {', '.join(supported)}"
        raise SelectionError([Refusal("CONTINUATION_UNSUPPORTED", "continuation", message, hint)])
    return chosen


# --- mode and model


def _mode(manifest: AgentCli, name: str | None, refusals: list[Refusal]) -> ModeBlock | None:
    if name is None:
        return None
    found = next((mode for mode in manifest.modes if mode.id == name), None)
    if found is None:
        known = [mode.id for mode in manifest.modes]
        message = f"{manifest.id} has no mode {name[:80]!r}"
        refusals.append(Refusal("MODE_UNKNOWN", "mode", message, _meant_of(manifest, name, known)))
    return found


def _put_model(
    manifest: AgentCli, model: str | None, chosen: dict[str, Any], refusals: list[Refusal]
) -> bool:
    """Judge the model, and hand it to the option `model` where there is one; whether that was so."""
    allowed = manifest.models.allowed
    option = next((option for option in manifest.options if option.id == _MODEL), None)
    for name in (model, _text(chosen.get(_MODEL))):
        if name is not None and allowed and name not in allowed:
            message = f"the model {name[:80]!r} is not allowed by {manifest.id}"
            refusals.append(Refusal("MODEL_NOT_ALLOWED", _MODEL, message, f"known: {', '.join(allowed)}"))
            return option is not None
    if model is None or option is None:
        return False
    if chosen.setdefault(_MODEL, model) != model:
        message = "the model and the option `model` say different things"
        refusals.append(Refusal("MODEL_CONFLICT", _MODEL, message, "give one of them"))
    if model == manifest.models.default and option.default is None:
        # The program's own default needs no argument.
        del chosen[_MODEL]
    return True


def _variables(models: Models, model: str | None) -> Iterator[str]:
    slot = (model or "").partition("/")[0]
    if slot in models.env:
        yield models.env[slot]
    else:
        yield from dict.fromkeys(models.env.values())


# --- options


def _refused_options(manifest: AgentCli, chosen: Mapping[str, Any]) -> Iterator[Refusal]:
    declared = {option.id: option for option in manifest.options}
    for name, value in chosen.items():
        option = declared.get(name)
        if option is None:
            message = f"{manifest.id} has no option {str(name)[:80]!r}"
            known = _meant_of(manifest, str(name), list(declared))
            yield Refusal("OPTION_UNKNOWN", f"options.{name}", message, known)
            continue
        refusal = _CHECKS[option.type](option, value)
        if refusal is not None:
            code, message, hint = refusal
            yield Refusal(code, f"options.{name}", f"the option {name} {message}", hint)


_Found = tuple[str, str, str | None] | None


def _boolean(option: OptionBlock, value: Any) -> _Found:
    del option
    return None if isinstance(value, bool) else ("OPTION_TYPE", "is true or false", None)


def _integer(option: OptionBlock, value: Any) -> _Found:
    if not isinstance(value, int) or isinstance(value, bool):
        return "OPTION_TYPE", "is a whole number", None
    if (option.min is not None and value < option.min) or (option.max is not None and value > option.max):
        least = "" if option.min is None else f"at least {option.min}"
        most = "" if option.max is None else f"at most {option.max}"
        return "OPTION_RANGE", f"is {' and '.join(filter(None, (least, most)))}, not {value}", None
    return None


def _string(option: OptionBlock, value: Any) -> _Found:
    if not isinstance(value, str):
        return "OPTION_TYPE", "is a text", None
    if "\x00" in value:
        return "OPTION_TEXT", "cannot contain a null character", None
    if value.startswith("-") and _VALUE in option.bin_args_template:
        return "OPTION_TEXT", "cannot begin with a dash: the program would read it as an option", None
    return None


def _enum(option: OptionBlock, value: Any) -> _Found:
    if not isinstance(value, str):
        return "OPTION_TYPE", "is a text", None
    if value not in option.enum:
        return "OPTION_ENUM", f"is one of {', '.join(option.enum)}", _meant(value, list(option.enum))
    return None


_CHECKS: dict[str, Callable[[OptionBlock, Any], _Found]] = {
    "boolean": _boolean,
    "integer": _integer,
    "string": _string,
    "enum": _enum,
}


def _apply(option: OptionBlock, value: Any, args: list[str], env: dict[str, str]) -> None:
    default = False if option.type == "boolean" and option.default is None else option.default
    if option.type == "boolean" and value is True:
        # A bare flag follows the value, not whether it is the default: without it the program would be off.
        args += option.bin_args_append_when_true
    if value == default:
        return
    text = str(value).lower() if isinstance(value, bool) else str(value)
    args += [part.replace(_VALUE, text) for part in option.bin_args_template]
    env |= {name: part.replace(_VALUE, text) for name, part in option.env.items()}


def _meant(name: str, known: list[str]) -> str:
    near = nearest(name, known, limit=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}"


def _meant_of(manifest: AgentCli, name: str, known: list[str]) -> str:
    """The same for what the manifest describes: with the command that shows it."""
    meant = _meant(name, known)
    mark = "" if meant.endswith("?") else ";"
    return f"{meant}{mark} to see what each does: operable agent show {manifest.id}"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
