"""Pull requests, checks, runs and logs from the REST API of GitHub, which does not change with the version of gh."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.tool.framework import Change
from operable.wire.lines import split_lines
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# gh puts the repository in their place: the one that was named, or that of the current folder.
_REPO = "repos/{owner}/{repo}"
_PAGE, _MOST_PAGES = 100, 50
# The pull request of a plan, under a name that no input has.
_PULL = "pull request of the plan"
_BAD = ("failure", "timed_out", "startup_failure", "action_required", "error", "cancelled", "stale")
_FAILED_JOBS = ("failure", "timed_out", "startup_failure")


# -- pull requests


def pr_view(upstream: Upstream) -> Iterator[Any]:
    pull = _pull(upstream)
    fields: tuple[str, ...] = (
        "number",
        "title",
        "state",
        "merged",
        "mergeable",
        "mergeable_state",
        "body",
        "additions",
    )
    fields += ("deletions", "changed_files", "commits", "comments", "review_comments", "created_at")
    event = {
        "type": "pull_request",
        **{name: pull.get(name) for name in (*fields, "updated_at", "merged_at")},
    }
    event |= {"url": pull.get("html_url"), "is_draft": bool(pull.get("draft"))}
    event |= {"author": (pull.get("user") or {}).get("login")}
    event |= {"head_ref_name": pull["head"]["ref"], "head_sha": pull["head"]["sha"]}
    event |= {"base_ref_name": pull["base"]["ref"]}
    event |= {name: [each["name"] for each in pull.get(name) or ()] for name in ("labels",)}
    for name in ("assignees", "requested_reviewers"):
        event[name] = [each["login"] for each in pull.get(name) or ()]
    yield event


def pr_checks(upstream: Upstream) -> Iterator[Any]:
    """Check runs, and the statuses of services that know no check runs; the last of each name."""
    sha = _pull(upstream)["head"]["sha"]
    counts: dict[str, int] = {}
    found = [_check(each) for each in _pages(upstream, f"{_REPO}/commits/{sha}/check-runs", "check_runs")]
    found += [_status(each) for each in _pages(upstream, f"{_REPO}/commits/{sha}/status", "statuses")]
    for event in sorted(found, key=lambda event: (event["name"], event["kind"], str(event["url"]))):
        counts[event["result"]] = counts.get(event["result"], 0) + 1
        yield event
    upstream.context.conclude(checks=counts, head_sha=sha)


def _check(each: dict[str, Any]) -> dict[str, Any]:
    conclusion = each.get("conclusion")
    result = "failed" if conclusion in _BAD else "skipped" if conclusion == "skipped" else "passed"
    times = {name: each.get(name) for name in ("started_at", "completed_at")}
    return {
        "type": "pr_check",
        "name": str(each.get("name") or ""),
        "kind": "check_run",
        "result": result if each.get("status") == "completed" else "pending",
        "state": conclusion or each.get("status"),
        "url": each.get("html_url"),
        **times,
    }


def _status(each: dict[str, Any]) -> dict[str, Any]:
    results = {"success": "passed", "pending": "pending"}
    state = each.get("state")
    return {
        "type": "pr_check",
        "name": str(each.get("context") or ""),
        "kind": "status",
        "result": results.get(str(state), "failed"),
        "state": state,
        "url": each.get("target_url"),
        "started_at": each.get("created_at"),
        "completed_at": each.get("updated_at"),
    }


def body(inputs: dict[str, Any]) -> bytes:
    return str(inputs.get("body") or "").encode("utf-8", "surrogateescape")


def plan_create(upstream: Upstream) -> Iterator[Change]:
    """From what is known here: which branch goes where. GitHub has no dry run, and refuses a second one for a branch."""
    inputs = upstream.inputs
    _choose(upstream)
    head = inputs.get("head") or "the current branch"
    base = inputs.get("base") or "the default branch"
    details = {"head": head, "base": base, "draft": bool(inputs["draft"]), "bytes": len(body(inputs))}
    yield Change("create pull request", inputs["title"], repo=inputs.get("repo"), **details)


def pr_create(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    _choose(upstream)
    base = inputs.get("base") or _asked(upstream, _REPO)["default_branch"]
    # gh puts the current branch in the place of {branch}, and what it reads on stdin in that of @-.
    head = [f"--raw-field=head={inputs['head']}"] if inputs.get("head") else ["--field=head={branch}"]
    words = ["api", "--method=POST", f"--raw-field=title={inputs['title']}", *head]
    words += [f"--raw-field=base={base}", "--field=body=@-"]
    words += ["--field=draft=true"] if inputs["draft"] else []
    made = _sent(upstream, [*words, f"{_REPO}/pulls"])
    if made is not None:
        yield {"type": "pr_created", "number": made.get("number"), "url": made.get("html_url")}


def plan_merge(upstream: Upstream) -> Iterator[Change]:
    """The pull request as it is now: what is merged is the commit that the plan names."""
    pull = _pull(upstream)
    number, state = pull["number"], "merged" if pull.get("merged") else pull.get("state")
    if state != "open":
        raise Fail("conflict", "PR_NOT_OPEN", f"pull request {number} is {state}", target=str(number))
    upstream.inputs[_PULL] = pull
    details = {"title": pull.get("title"), "head": pull["head"]["ref"], "sha": pull["head"]["sha"]}
    details |= {"base": pull["base"]["ref"], "mergeable_state": pull.get("mergeable_state")}
    yield Change("merge", str(pull.get("html_url") or number), method=upstream.inputs["method"], **details)


def pr_merge(upstream: Upstream) -> Iterator[Any]:
    pull = upstream.inputs[_PULL]
    words = ["api", "--method=PUT", f"--raw-field=sha={pull['head']['sha']}"]
    words += [f"--raw-field=merge_method={upstream.inputs['method']}"]
    done = _sent(upstream, [*words, f"{_REPO}/pulls/{pull['number']}/merge"])
    if done is None:
        return
    if done.get("merged") is not True:
        message = redact_text(str(done.get("message") or "GitHub does not say that it is merged"))
        upstream.failure = Fail("conflict", "NOT_MERGED", message, target=str(pull["number"]))
        return
    yield {
        "type": "pr_merged",
        "number": pull["number"],
        "url": pull.get("html_url"),
        "sha": done.get("sha"),
        "head_sha": pull["head"]["sha"],
    }


def _pull(upstream: Upstream) -> dict[str, Any]:
    """The pull request that was named, or the newest one of the current branch."""
    _choose(upstream)
    number = upstream.inputs.get("number")
    if number is None:
        found = _asked(
            upstream, f"{_REPO}/pulls?state=all&sort=updated&direction=desc&head={{owner}}:{{branch}}"
        )
        if not found:
            message = "the current branch has no pull request"
            raise Fail("not_found", "PR_NOT_FOUND", message, hint="name it by its number", target="number")
        number = found[0]["number"]
    pull: dict[str, Any] = _asked(upstream, f"{_REPO}/pulls/{int(number)}")
    return pull


# -- runs


def run_view(upstream: Upstream) -> Iterator[Any]:
    _choose(upstream)
    number = upstream.inputs["run"]
    found = _asked(upstream, f"{_REPO}/actions/runs/{number}")
    names = ("status", "conclusion", "event", "head_branch", "head_sha", "created_at", "updated_at")
    event = {"type": "workflow_run", "database_id": found.get("id"), "name": found.get("name")}
    event |= {"number": found.get("run_number"), "attempt": found.get("run_attempt")}
    event |= {"display_title": found.get("display_title"), "url": found.get("html_url")}
    yield event | {name: found.get(name) for name in names}
    for job in _jobs(upstream):
        yield _job(job)


def _job(job: dict[str, Any]) -> dict[str, Any]:
    steps = [
        {name: step.get(name) for name in ("number", "name", "status", "conclusion")}
        for step in job.get("steps") or ()
    ]
    names = ("name", "status", "conclusion", "started_at", "completed_at")
    event = {"type": "job", "database_id": job.get("id"), "url": job.get("html_url"), "steps": steps}
    return event | {name: job.get(name) for name in names}


def run_log(upstream: Upstream) -> Iterator[Any]:
    _choose(upstream)
    inputs = upstream.inputs
    jobs = [job for job in _jobs(upstream) if inputs.get("job") in (None, job["id"])]
    if inputs["failed"]:
        jobs = [job for job in jobs if job.get("conclusion") in _FAILED_JOBS]
    if inputs.get("job") is not None and not jobs:
        raise Fail("not_found", "JOB_NOT_FOUND", f"the run has no such job {inputs['job']}", target="job")
    for job in jobs:
        yield from _tail(_log(upstream, job), inputs.get("tail"))
        if upstream.end is None or upstream.end.status != 0:
            return  # how it ended says why


def _log(upstream: Upstream, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    words = ["api", "--method=GET", f"{_REPO}/actions/jobs/{job['id']}/logs"]
    number, rest = 0, b""
    for chunk in upstream.chunks(words):
        lines, rest = split_lines(rest + chunk)
        for line in lines:
            number += 1
            yield _line(job, number, bytes(line))
    # What gh prints of an error does not belong to the log.
    if rest and upstream.end is not None and upstream.end.status == 0:
        yield _line(job, number + 1, bytes(rest))


def _line(job: dict[str, Any], number: int, line: bytes) -> dict[str, Any]:
    text = line.decode("utf-8", "replace").removesuffix("\r").removeprefix("\ufeff")
    time, space, rest = text.partition(" ")
    timed = bool(space) and time[:4].isdigit() and time.endswith("Z") and "T" in time
    event = {"type": "line", "job": job.get("name"), "job_id": job["id"], "line_number": number}
    return event | {"time": time if timed else None, "text": redact_text(rest if timed else text)}


def _tail(events: Iterator[dict[str, Any]], last: int | None) -> Iterator[dict[str, Any]]:
    if last is None:
        yield from events
        return
    from collections import deque

    yield from deque(events, maxlen=last)


def _jobs(upstream: Upstream) -> list[dict[str, Any]]:
    return list(_pages(upstream, f"{_REPO}/actions/runs/{upstream.inputs['run']}/jobs", "jobs"))


# -- asking


def _choose(upstream: Upstream) -> None:
    """The repository that was named; one with a host in front is asked there."""
    repo = upstream.inputs.get("repo")
    if repo is None:
        return
    *host, owner, name = str(repo).split("/")
    upstream.env = {"GH_REPO": repo, **({"GH_HOST": host[0]} if host and owner and name else {})}


def _asked(upstream: Upstream, endpoint: str) -> Any:
    raw = upstream.ask(["api", "--method=GET", endpoint])
    try:
        return decode(raw)
    except ValueError as problem:
        raise Fail("internal", "UPSTREAM_NON_JSON", "gh api printed no JSON", target="gh") from problem


def _pages(upstream: Upstream, endpoint: str, name: str) -> Iterator[dict[str, Any]]:
    """The elements of a list of GitHub, page by page."""
    for page in range(1, _MOST_PAGES + 1):
        found = _asked(upstream, f"{endpoint}?per_page={_PAGE}&page={page}").get(name) or []
        yield from found
        if len(found) < _PAGE:
            return
    message = f"GitHub has more than {_PAGE * _MOST_PAGES} of these"
    raise Fail("validation", "TOO_MANY", message, hint="operable wrap gh api ENDPOINT", target=name)


def _sent(upstream: Upstream, words: list[str]) -> dict[str, Any] | None:
    """What GitHub says of a change; None where it refused it, which the end of gh says."""
    _choose(upstream)
    raw = b"".join(upstream.chunks(words))
    if upstream.end is None or upstream.end.status != 0:
        return None
    try:
        found = decode(raw)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    upstream.foreign += 1
    upstream.cut_off()
    return None
