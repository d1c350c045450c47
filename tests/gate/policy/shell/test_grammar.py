"""The exact reader: what it accounts for, and what it refuses."""

import pytest

from operable.gate.policy.shell.grammar import UnreadableError, read


def commands(line):
    return [[word.text for word in command.words] for command in read(line) if command.words]


@pytest.mark.parametrize(
    "line, found",
    [
        ("ls -la", [["ls", "-la"]]),
        ("a'b c'\"d e\"f", [["ab cd ef"]]),
        ("a; b && c || d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("(a; b) > f", [["a"], ["b"]]),
        ("{ a; } | b", [["a"], ["b"]]),
        ("! a", [["a"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done", [["a"], ["b"]]),
        ("for x in a b; do c $x; done", [["c", None]]),
        ("a $(b 'c') d", [["b", "c"], ["a", None, "d"]]),
        ('a "$(b "c d")"', [["b", "c d"], ["a", None]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("cat <<E\nx\nE\nb", [["cat"], ["b"]]),
        ("cat <<'E' | b\n$(x) don't\nE\nc", [["cat"], ["b"], ["c"]]),
        ("cat <<-E\n\tx\n\tE\nb", [["cat"], ["b"]]),
        ("X=1 Y='a b' a", [["a"]]),
        ("a 2>&1 >>f <g", [["a"]]),
        ('a "b\\"c" "d$"', [["a", 'b"c', "d$"]]),
        ("a \\; \\(", [["a", ";", "("]]),
        ("[ -f a ] && b", [["[", "-f", "a", "]"], ["b"]]),
        ("a {} + ", [["a", "{}", "+"]]),
        ("a {b,c} d*", [["a", None, None]]),
        ("a ${X} ${X:-b} ${#X} $((1 + 2)) $?", [["a", None, None, None, None, None]]),
    ],
)
def test_the_subset_is_read_exactly(line, found):
    assert commands(line) == found


@pytest.mark.parametrize(
    "line",
    [
        "echo `a`",
        "case a in a) b;; esac",
        "f() { a; }",
        "function f { a; }",
        "select x in a; do b; done",
        "coproc a",
        "((1))",
        "echo $((x))",
        "echo $[1]",
        "echo $'a'",
        'echo $"a"',
        "cat <(a)",
        "a > >(b)",
        "a=(b c)",
        "a[1]=b",
        "echo ${x@P}",
        "echo ${!x}",
        "echo ${x:=y}",
        "echo ${x[1]}",
        "echo $x[1]",
        "echo *(a)",
        "=a b",
        "echo a!b",
        'echo "a!b"',
        "a;#b",
        "(a)#b",
        "echo $(a # b\n)",
        "echo $(cat <<E\nE\n)",
        "cat <<A <<B\nA\nB\n",
        "cat <<E\n$x\nE",
        "cat <<E\na\\\nE\n",
        "cat <<E",
        "cat <<E\nx",
        "cat <<E 'a\nb'\nE\n",
        "cat <<E \\\n b\nE\n",
        "cat <<\\E\nE\n",
        "cat <<E'F'\nEF\n",
        "{ a } b",
        "a }",
        "a;; b",
        "a &>f b",
        "{fd}>f a",
        "2>&1- a",
        "a 'b\\'",
        "\\a",
        "é",
        "a && ",
        "a | ; b",
        "; a",
        "if a; b; fi",
        "if a; then b",
        "for x; do a; done",
        "for x in a; b",
        "do a",
        "fi",
        "(a",
        "a)",
        "echo \\\n# b",
        "# $(a)",
        "a\rb",
        "a 'b",
        'a "b',
        "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\"",
    ],
)
def test_what_shells_read_in_several_ways_is_refused(line):
    with pytest.raises(UnreadableError):
        read(line)
