"""Effects that were not confirmed, and plans that are carried out.

What it does
    Runs a destructive command with its confirmation first, to see that the call works and what it changes; then
    without, which must be refused and change nothing, also when the call has an idempotency key, and when the
    confirmation is denied (`--confirm=false`). Runs `--dry-run` where it is advertised: it must succeed, emit
    `aoi:plan` events where there is something to do, leave nothing in /tmp and change nothing, also when the call has
    its confirmation and an idempotency key. "Nothing" is observed: the files of work dir and HOME by content, the state
    that the tool reports, and no attempt to reach the network, as the kernel counts them. A connection to a helper that
    the tool has started itself is none; a name lookup is one, and so is a connection to a port of this machine at which
    nothing of the tool listens. A wrong `--confirm-count` must be refused, also beside `--confirm`, and where it is
    advertised it must be an option that exists.

Why is this bad?
    A model that misunderstands deletes with the same confidence as one that does not. The confirmation is the only point
    at which a mistake is still free.
"""

from __future__ import annotations

from collections.abc import Iterator

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, RoomChange, Untested
from operable.lint.evidence import Observation, excerpt
from operable.lint.example import error, meta, summary, transcript
from operable.lint.variants import demand_visible, dry_run, unconfirmed

_KEY = "7c1e9a40-52d3-4b7e-9f1c-0d6a8be2f413"
_WRONG_COUNT = "424242"
_DESTRUCTIVE_VERBS = ("delete", "remove", "rm", "destroy", "purge", "drop", "wipe", "erase")


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if case.plan.capabilities is None:
        raise Untested("there is no capability manifest that says what it does; see check 1")
    if command.relays or command.claims_flag("runs_tools"):
        raise NotApplicable("it runs other tools, whose own guards stay in force")
    if command.name.split()[-1] in _DESTRUCTIVE_VERBS and not command.destructive:
        yield case.fail(
            f"`{command.name}` is not declared to be destructive, so nothing says that it needs confirmation",
            case.plan.discovery["capabilities"],
            section="16.3",
        )
    elif not command.mutates:
        raise NotApplicable("it is read-only")
    before = len(case.seen)
    if command.destructive:
        yield from _unconfirmed(case)
    if command.claims_flag("supports_dry_run"):
        yield from _planned(case)
    elif command.mutates and not command.destructive:
        yield case.fail(
            "it changes things and has no --dry-run",
            case.plan.discovery["capabilities"],
            level="SHOULD",
            section="14.2",
        )
    if any(seen.outgoing is None for seen in case.seen[before:]):
        reason = case.lab.confined or "the profile gives it a network, or this kernel does not count them"
        raise Untested(f"that it makes no outgoing connection cannot be observed: {reason}")


def _unconfirmed(case: Case) -> Iterator[LintFinding]:
    done, changes = case.effect(case.sample_invocation())
    if not done.succeeded or not changes:
        raise Untested(
            "with confirmation it does not succeed, or changes nothing that can be seen: "
            "let the profile's setup make something that its args destroy"
        )
    refused, changes = case.effect(unconfirmed(case))
    if refused.succeeded:
        yield case.fail("without confirmation it is not refused", refused, section="14.3")
    if changes:
        yield case.fail(f"without confirmation it changes things: {_shown(changes)}", refused, section="14.3")
    yield from _contacts(case, refused, "without confirmation it tries to reach the network")
    yield from _denied(case)
    if not changes and case.target.claims_flag("supports_idempotency_key"):
        keyed, changes = case.effect(case.target.with_options(unconfirmed(case), "--idempotency-key", _KEY))
        reported = tuple(change for change in changes if change.where == "state")
        # That it has made a note of the key is not an effect.
        if keyed.succeeded or reported:
            said = _shown(reported) or "it reports success"
            yield case.fail(f"an idempotency key does for a confirmation: {said}", keyed, section="14.3")
    if case.target.claims_flag("supports_confirm_count"):
        yield from _counted(case, len(done.domain))


def _denied(case: Case) -> Iterator[LintFinding]:
    """A confirmation that is denied in so many words is none."""
    confirm = case.target.confirm
    if len(confirm) == 1 and confirm[0].startswith("--") and "=" not in confirm[0]:
        denied = f"{confirm[0]}=false"
        seen, changes = case.effect(case.target.with_options(unconfirmed(case), denied))
        if seen.succeeded or changes:
            said = _shown(changes) or "it reports success"
            yield case.fail(f"`{denied}` confirms: {said}", seen, section="14.3")


def _counted(case: Case, count: int) -> Iterator[LintFinding]:
    """The guard against broad deletes counts, whatever else the call has."""
    command = case.target
    for confirmed in ((), command.confirm):
        call = command.with_options(unconfirmed(case), *confirmed, "--confirm-count", _WRONG_COUNT)
        seen, changes = case.effect(call)
        if seen.succeeded or changes:
            said = _shown(changes) or "it reports success"
            beside = f" beside {' '.join(confirmed)}" if confirmed else ""
            text = f"a wrong --confirm-count{beside} is not refused: {said}"
            yield case.fail(text, seen, level="SHOULD", section="14.3")
            return
    right = case.observe(command.with_options(case.sample_invocation(), "--confirm-count", str(count)))
    # What it counts is its own affair; that the option exists is not.
    if right.refused and right.errors and right.errors[-1].get("category") == "usage":
        text = f"--confirm-count is advertised but not accepted: status {right.status}"
        yield case.fail(text, right, level="SHOULD", section="14.3")


def _planned(case: Case) -> Iterator[LintFinding]:
    seen, changes = case.effect(dry_run(case))
    if changes:
        yield case.fail(f"a dry run changes things: {_shown(changes)}", seen, section="14.2")
    else:
        yield from _planned_for_good(case)
    yield from _contacts(case, seen, "a dry run tries to reach the network")
    if seen.litter:
        yield case.fail(f"a dry run writes to /tmp: {', '.join(seen.litter[:3])}", seen, section="14.2")
    if not seen.succeeded:
        yield case.fail(
            f"a dry run fails with status {seen.status}",
            seen,
            section="14.2",
            excerpt=excerpt(seen.stdout[-200:]),
        )
    elif not seen.of("aoi:plan") and seen.readable:
        done, effects = case.effect(case.sample_invocation())
        if done.succeeded and not effects and not done.domain:
            raise Untested(
                "its plan is empty, and so is what it does: let the profile's setup make what it changes"
            )
        yield case.fail("a dry run emits no aoi:plan event", seen, section="14.2")
    if not changes:
        demand_visible(case, seen)


def _planned_for_good(case: Case) -> Iterator[LintFinding]:
    """With everything that makes a call count, --dry-run decides. Whether it is then refused is its own affair."""
    command = case.target
    more = [*(command.confirm if command.destructive else ())]
    if command.claims_flag("supports_idempotency_key"):
        more += ["--idempotency-key", _KEY]
    if not more:
        return
    seen, changes = case.effect(command.with_options(dry_run(case), *more))
    if changes:
        said = f"a dry run with {' '.join(more)} changes things: {_shown(changes)}"
        yield case.fail(said, seen, section="14.2")


def _contacts(case: Case, seen: Observation, what: str) -> Iterator[LintFinding]:
    if seen.outgoing:
        yield case.fail(f"{what}: {'; '.join(seen.outgoing)}", seen, excerpt="; ".join(seen.outgoing))


def _shown(changes: tuple[RoomChange, ...]) -> str:
    shown = "; ".join(str(change) for change in changes[:3])
    return shown + (f"; and {len(changes) - 3} more" if len(changes) > 3 else "")


CHECK = LintCheck(
    name="unguarded-effect",
    number=6,
    title="nothing is destroyed without confirmation, and plans change nothing",
    characteristics=("Safe",),
    level="MUST",
    section="14.3",
    passing=transcript(
        "delete n1", meta("delete"), error("CONFIRMATION_REQUIRED"), summary(False), "# exit 64"
    ),
    failing=transcript(
        "delete n1",
        meta("delete"),
        error("CONFIRMATION_REQUIRED"),
        summary(False),
        "# exit 64",
        "# reaches 1 time to an address outside this machine",
    ),
    hint="compute the plan first; refuse without --confirm, print with --dry-run, and only then open the store for writing",
    command=_command,
    page=__doc__,
)
