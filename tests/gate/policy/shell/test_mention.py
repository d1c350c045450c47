"""The second net: the words of a rule in a line that is not plain."""

import pytest

from operable.gate.policy.pattern import ALLOW, DENY
from operable.gate.policy.rules import Policy, PolicyRule
from operable.gate.policy.shell.mention import mentions
from operable.gate.policy.tool_call import JudgedCall


def decide(line, *patterns):
    rules = (PolicyRule(ALLOW, "*"), *(PolicyRule(DENY, f"execute:{each}") for each in patterns))
    return Policy(rules).decide(JudgedCall("Bash", "execute", {"command": line}), "/").effect


@pytest.mark.parametrize(
    "line",
    [
        "ls # do not rm x",
        'echo "$HOME rm x"',
        "echo $(echo rm x)",
        "echo a \\\n rm x",
        "echo 'a\n rm x'",
        "python3 -c 'import os; os.system(\"rm x\")'",
        "python3 - <<'EOF'\nrun('rm', 'x')\nEOF",
        "echo 'rm x' > f; . ./f",
        "echo 'rm x' > f; sh f.sh",
        "echo 'rm x' > f; ./f",
        "echo r''\"\"m 'x' # y",
        "echo '<<E'\nrm x\nE",
        # code for an interpreter, however it is given
        "perl -e'system(\"rm x\")'",
        "perl '-e' 'system(\"rm x\")'",
        "perl -0777e 'system(\"rm x\")'",
        "python3 -c\"import os;os.system('rm x')\"",
        "echo 'import os; os.system(\"rm x\")' | python3",
        "python3 <<<'os.system(\"rm x\")'",
        "printf -- '-e\\nsystem(\"rm x\")' | xargs -d '\\n' perl",
        "nice python3 -c 'run(\"rm\", x)'",
        "python3 x f.py 'rm x'",
        "python3 -u; echo 'rm x'",
        # a file that is written and run
        "echo 'rm x' > f && env ./f",
        "echo 'rm x' > f && timeout 5 ./f",
        "echo 'rm x' > f; \"./f\"",
        "echo 'rm x' > f; { ./f; }",
        "echo 'rm x' > f; if ./f; then ls; fi",
        "echo 'rm x' > f; >o ./f",
        "echo 'rm x' > a/f; X=1 a/f",
        "echo 'rm x' > f; find f -exec ./f \\;",
        "printf 'all:\\n\\trm x\\n' > Makefile && make",
        "cat <<'E' > Makefile\nall:;rm x\nE\nmake",
        "echo 'os.system(\"rm x\")' > f.py; python3 f.py",
        "echo 'os.system(\"rm x\")' > f.py; python3 -m f",
        "echo 'os.system(\"rm x\")' | tee test_a.py; pytest",
        "echo 'rm x' > .git/hooks/pre-commit; git commit -m y",
    ],
)
def test_a_program_that_is_named_in_a_line_that_is_not_plain_counts_as_run(line):
    assert mentions("rm *", line)
    assert decide(line, "rm *") == DENY
    assert decide(line, "shred *") == ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "git rm x",
        "git commit -m 'rm x'",
        'grep -rn "rm x" src | head',
        "echo 'a; rm x' > f",
        "cat <<'EOF' > f\n$(rm x) don't\nEOF\nls",
        "cat <<-EOF > f\n\trm x don't\n\tEOF",
        "docker run --rm image",
        "ls farm.txt # the farm",
        "pytest tests/rm -q 2>&1 | tail -5",
        "cd rm && npm test > /dev/null",
        "python3 -m pytest tests/rm",
        "python3 rm/build.py -k 'rm or not'",
        "timeout 60 pytest tests.rm",
        "echo 'rm x' > notes.md && git add notes.md && git commit -m 'Say rm x'",
        "python3 f.py --flag 'rm x'",
        "python3 --version; echo 'rm x'",
        "python3 -V; echo 'rm x'",
    ],
)
def test_in_a_plain_line_quotes_and_documents_are_data(line):
    assert not mentions("rm *", line)
    assert decide(line, "rm *") == ALLOW


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("git push*", False),
        ("git push *", False),
        ("git log*", True),
        ("git*", True),
        ("gi*", True),
        ("/usr/bin/git log", True),
        ("*--oneline*", True),
        ("*--force*", False),
        ("*", True),
    ],
)
def test_every_literal_part_of_the_pattern_must_be_in_the_line(pattern, found):
    assert mentions(pattern, "git log --oneline # the last") is found


def test_a_line_that_is_not_exact_is_bound_by_every_deny_and_allowed_by_no_pattern():
    line = "echo `date`"
    assert decide(line, "rm *") == DENY
    only = Policy((PolicyRule(ALLOW, "execute:echo *"), PolicyRule(ALLOW, "execute:git log*")))
    call = JudgedCall("Bash", "execute", {"command": "git log --format=é"})
    assert only.decide(call, "/").effect == DENY
    literal = Policy((PolicyRule(ALLOW, "execute:git log --format=é"),))
    assert literal.decide(call, "/").effect == ALLOW


def test_the_reason_says_when_a_rule_applies_only_because_the_line_cannot_be_read():
    policy = Policy((PolicyRule(ALLOW, "*"), PolicyRule(DENY, "execute:rm *")))

    def reason(line):
        return policy.decide(JudgedCall("Bash", "execute", {"command": line}), "/").reason

    assert "cannot read everything that this command line runs" in reason("echo `date`")
    assert reason("rm x") == "the rule deny execute:rm * says so"
