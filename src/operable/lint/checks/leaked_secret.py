"""Secrets that come out again.

What it does
    Passes values that can be recognised through every option that looks like one for a secret (by its name, or named in
    the profile), in the sample call, in a dry run and in a call that is refused; through misspelt options, URLs with
    their query, headers, environment variables and configuration files, and looks for them in stdout and stderr: as
    they are, URL-encoded, escaped as in JSON, in hexadecimal and in base64, and eight characters of them in a row. With
    `--debug`, `--verbose` or `--trace`, where they exist, once more. Words that a parser refuses and repeats on stderr
    are one piece of advice for the whole tool (SHOULD). What a command is asked to store as data may come back in its
    domain events; nothing may come back in framework events or diagnostics.

Why is this bad?
    Output ends up in transcripts, logs and prompts, which many more can read than the one who typed the secret.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote, quote_plus

from operable.kernel.redact.names import is_secret_name
from operable.lint.check import Case, LintCheck, LintFinding, Untested
from operable.lint.evidence import Invocation, Observation, encode
from operable.lint.example import error, meta, summary, transcript
from operable.lint.samples import options_of
from operable.lint.variants import demand_sample, dry_run, known_flags

# Not secrets, though a word in their names is one.
_INNOCENT = ("--idempotency-key", "--confirm", "--sort-key", "--key-only")
_DIAGNOSTICS = ("--debug", "--verbose", "--trace")
# What a refused call was given in words that it does not know.
_WORDS = ("--no-such-token=…", "--no-such-password …", "the password of a URL")
_REPEATED = "refused words are repeated on stderr, secrets among them, as many parsers do"
_HEADER_FLAGS = ("--header", "--headers")
# Those of section 11.
_QUERIES = ("token", "access_token", "sig", "code", "key")


_ESCAPED = re.compile(r"\\+u00([0-7][0-9a-fA-F])")


# So many characters of a secret in a row are more than is needed to recognise it.
_PART = 8


def canary(label: str) -> str:
    """A value that stands for a secret; no part of it is in one with another label."""
    noise = base64.b32encode(hashlib.sha256(label.encode()).digest()).decode()
    return f"Zq{noise[:3]}+{label}+{noise[3:12].swapcase()}"


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if command.profile.skip is not None or not command.has_stream:
        raise Untested(command.settled(case.lab.observe)[1])
    reported: set[str] = set()
    experiments = (_flags(case), *_debugged(case), *_planned(case), _misspelt(case), _places(case))
    for call, secrets, framework_only in experiments:
        seen = case.observe(call)
        found = {
            label: form
            for label, value in secrets.items()
            if label not in reported
            and (form := _leak(seen, value, framework_only=framework_only)) is not None
        }
        reported |= found.keys()
        if found and _repeated(seen, found):
            yield from case.fail_as_a_whole(_REPEATED, seen, section="11")
        elif found:
            # One cause, whatever it was given.
            form = next(iter(found.values()))
            yield case.fail(f"the secret given in {', '.join(found)} appears {form}", seen, excerpt=form)
    demand_sample(case)


def _repeated(seen: Observation, found: dict[str, str]) -> bool:
    """Whether a parser says on stderr which words it refuses, as those of many languages do."""
    words = all(label in _WORDS or label.startswith("`") for label in found)
    return seen.refused and words and all(form.startswith("on stderr") for form in found.values())


_Experiment = tuple[Invocation, dict[str, str], bool]


def _flags(case: Case) -> _Experiment:
    """The sample call with every secret option, and with secrets in the environment."""
    command = case.target
    base, _ = command.settled(case.lab.observe)
    call = base if base is not None else command.invocation([])
    secrets, options = _options(case)
    env = _environment(case)
    call = replace(command.with_options(call, *options), env=tuple(env.items()))
    return call, secrets | {f"the variable {name}": value for name, value in env.items()}, False


def _options(case: Case) -> tuple[dict[str, str], list[str]]:
    """Every secret option with a value of its own."""
    secrets: dict[str, str] = {}
    options: list[str] = []
    for flag in _secret_flags(case):
        secrets[flag] = canary(f"flag{len(secrets)}")
        options += [flag, secrets[flag]]
    for flag in _known_flags(case):
        if flag in _HEADER_FLAGS:
            secrets[flag] = canary("header")
            options += [flag, f"Authorization: Bearer {secrets[flag]}"]
    return secrets, options


def _debugged(case: Case) -> Iterator[_Experiment]:
    """The same call with more diagnostics (section 16.1): they are also redacted."""
    known = known_flags(case)
    for flag in (flag for flag in _DIAGNOSTICS if flag in known):
        call, secrets, framework_only = _flags(case)
        yield case.target.with_options(call, flag), secrets, framework_only


def _planned(case: Case) -> Iterator[_Experiment]:
    """A plan says what would be done, not with which secrets."""
    secrets, options = _options(case)
    base, _ = case.target.settled(case.lab.observe)
    if not secrets or base is None or not case.target.claims_flag("supports_dry_run"):
        return
    if case.lab.observe(base).events:
        yield case.target.with_options(dry_run(case), *options), secrets, False


def _misspelt(case: Case) -> _Experiment:
    """A secret behind an option that does not exist, and others before it: the complaint must not repeat them."""
    joined, apart = canary("joined"), canary("apart")
    env = _environment(case)
    secrets, options = _options(case)
    call = case.target.invocation([], *options, f"--no-such-token={joined}", "--no-such-password", apart)
    secrets |= dict(zip(_WORDS, (joined, apart), strict=False))
    secrets |= {f"the variable {name}": value for name, value in env.items()}
    return replace(call, env=tuple(env.items())), secrets, False


def _places(case: Case) -> _Experiment:
    """Secrets in a URL, and in a configuration file."""
    user, config = canary("user"), canary("config")
    queries = {name: canary(f"query{number}") for number, name in enumerate(_QUERIES)}
    query = "&".join(f"{name}={value}" for name, value in queries.items())
    url = f"https://someone:{user}@example.invalid/x?{query}&page=2"
    name = re.sub(r"[^\w-]", "_", case.plan.name)  # it becomes a part of paths
    files = (
        (f".config/{name}/config.toml", f'token = "{config}"\n'),
        (f".config/{name}/config.json", encode({"token": config})),
        (f".{name}rc", f"token = {config}\n"),
        (".netrc", f"machine example.invalid login someone password {config}\n"),
    )
    call = replace(case.target.invocation([url]), files=files)
    secrets = {_WORDS[2]: user, "a configuration file": config}
    secrets |= {f"`{name}` in the query of a URL": value for name, value in queries.items()}
    return call, secrets, True


def _secret_flags(case: Case) -> list[str]:
    found = [
        flag
        for flag in _known_flags(case)
        if is_secret_name(flag.removeprefix("--")) and flag not in _INNOCENT
    ]
    return list(dict.fromkeys([*found, *case.target.profile.secret_flags]))


def _known_flags(case: Case) -> list[str]:
    switches = {flag for flag, rule in options_of(case.target.inputs) if rule.get("type") == "boolean"}
    return [flag for flag in known_flags(case) if flag not in switches]


def _environment(case: Case) -> dict[str, str]:
    prefix = re.sub(r"\W", "_", case.plan.name).upper()
    names = (f"{prefix}_TOKEN", f"{prefix}_API_TOKEN", f"{prefix}_API_KEY", f"{prefix}_PASSWORD", "API_TOKEN")
    return {name: canary(f"env{number}") for number, name in enumerate(names)}


def _leak(seen: Observation, value: str, *, framework_only: bool) -> str | None:
    """Where and in which form it appears."""
    for event in seen.events:
        if framework_only and (not event["type"].startswith("aoi:") or event["type"] == "aoi:plan"):
            continue
        form = leak(encode(event), value)
        if form is not None:
            return f"in the event `{event['type']}`, {form}"
    if not framework_only and (form := leak(seen.stdout.decode("utf-8", "replace"), value)) is not None:
        return f"on stdout, {form}"
    form = leak(seen.stderr, value)
    return None if form is None else f"on stderr, {form}"


# Secrets that are none: values that can be recognised in any output, also when something has encoded them.
#
# A canary has characters that URL encoding changes, so that its raw and its encoded form can be distinguished. In
# base64 the same bytes look different depending on where they are in what was encoded: all three alignments are
# looked for.


def forms(value: str) -> dict[str, str]:
    """How the value may appear -> what to look for."""
    found = {
        "as it is": value,
        "URL-encoded": quote(value, safe=""),
        "form-encoded": quote_plus(value, safe=""),
    }
    raw = value.encode()
    found["in hexadecimal"] = raw.hex()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode()
        # The characters at both ends depend on the neighbours.
        found[f"in base64 ({shift})"] = encoded[-(-shift * 8 // 6) : len(encoded) - 4]
    return found


def leak(text: str, value: str) -> str | None:
    """In which form the value is in the text. Hexadecimal digits may be written large or small, and any character may be
    escaped as in JSON.
    """
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    for form, needle in forms(value).items():
        found = needle in text if form.startswith("in base64") else needle.lower() in text.lower()
        if found:
            return form.split(" (")[0]
    parts = (value[start : start + _PART] for start in range(len(value) - _PART + 1))
    return f"{_PART} characters of it and more" if any(part in text for part in parts) else None


CHECK = LintCheck(
    name="leaked-secret",
    number=9,
    title="secrets do not come out again",
    characteristics=("Safe",),
    level="MUST",
    section="11",
    passing=transcript(
        "list --api-token … --no-such-token=… --no-such-password …",
        meta("list"),
        error("UNKNOWN_OPTION"),
        summary(False),
        "# exit 64",
    ),
    failing=transcript(
        "list --api-token … --no-such-token=… --no-such-password …",
        meta("list"),
        error("UNKNOWN_OPTION", message=f"unknown option --no-such-token={canary('joined')}"),
        summary(False),
        "# exit 64",
    ),
    hint="never put argv, environment or configuration into events; name options in messages, not their values",
    command=_command,
    page=__doc__,
)
