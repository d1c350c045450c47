"""What a shell line may run, found in every way of writing it that is cheap to see through."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operable.host.policy.shell.command_line import commands_in, may_match, plain_script
from operable.host.policy.shell.text import WILD


def runs(line, pattern="rm *"):
    return any(may_match(pattern, command) for command in commands_in(line))


HIDDEN = [
    "rm x",
    "rm\tx",
    "git status; rm x",
    "true && rm x",
    "false || rm x",
    "a | rm x",
    "rm x &",
    "a\nrm x",
    "a;rm x #'",
    "(rm x)",
    "{ rm x; }",
    "! rm x",
    "time rm x",
    "if true; then rm x; fi",
    "while read f; do rm $f; done",
    "case a in a) rm x;; esac",
    "f() { rm x; }; f",
    "echo $(rm x)",
    'echo "$(rm x)"',
    "echo `rm x`",
    "echo ${X:-$(rm x)}",
    "X=$(rm x)",
    "echo hi >(rm x)",
    "cat <(rm x)",
    "cat <<EOF\n$(rm x)\nEOF",
    "2>/dev/null rm x",
    ">out rm x",
    "rm<x y",
    # quotes and names
    "\\rm x",
    "'rm' x",
    'r""m x',
    "/bin/rm x",
    "./rm x",
    # wrappers
    "X=1 rm x",
    "env X=1 rm x",
    "/usr/bin/env rm x",
    "env -S 'rm x'",
    "sudo -u bob rm x",
    "timeout -k 5 10 rm x",
    "nohup nice rm x &",
    "command rm x",
    "exec rm x",
    "busybox rm x",
    "su -c 'rm x'",
    "ssh h 'rm x'",
    "trap 'rm x' EXIT",
    "ls | xargs rm -f",
    "ls | xargs rm",
    "ls | xargs -n1 rm",
    "xargs -a list rm",
    "sudo xargs rm",
    "find . -print0 | xargs -0 sudo rm",
    "ls | parallel rm",
    "ls | /usr/bin/xargs rm",
    "find . -exec rm {} \\;",
    # scripts
    "bash -c 'rm x'",
    "/bin/bash -lc 'rm x'",
    "bash -o pipefail -c 'rm x'",
    "bash -c \"bash -c 'rm x'\"",
    "sh -c 'a\nrm x'",
    "eval 'rm x'",
    "bash -c 'eval \"rm x\"'",
    # spellings that hid it once
    'cat <<EO"F"\nEOF\nrm x',
    "cat <<E\\OF\nEOF\nrm x",
    "cat <<'E'OF\nEOF\nrm x",
    "((x=1<<A))\nrm x",
    "(( x = 1 << A ))\nrm x",
    "echo $[1<<A]\nrm x",
    "a[1<<A]=1\nrm x",
    "echo $((1<<'A'\n$(rm x)\nA\n))",
    "echo ${x:-{}; rm x; echo }",
    'echo ${x:-"}"}; rm x',
    "echo ${x:-'}'}; rm x; echo '}'",
    "function f { rm x; }; f",
    "for f do rm x; done",
    "time -p rm x",
    "env -S'rm x'",
    "env -Srm x",
    "env -iS'rm x'",
    "env --split-string='rm x'",
    "su -c'rm x'",
    "su --command='rm x' bob",
    "script -qc'rm x'",
    "fish -c'rm x'",
    "taskset 1 rm x",
    "prlimit --nofile=5 rm x",
    "setarch x86_64 -R rm x",
    "linux64 rm x",
    "chrt -b 0 rm x",
    "ionice -c 3 rm x",
    "stdbuf -oL rm x",
    "nsenter -t 1 -m rm x",
    "numactl --all rm x",
    "fakeroot -- rm x",
    "uv run rm x",
    "npx -y some-wrapper /bin/rm x",
    "./made-a-moment-ago rm x",
    "unknown 'rm x'",
    "unknown sudo -u $U rm x",
    "unknown bash -c 'rm x'",
    "docker exec c rm x",
]
OPEN = [
    "$RM x",
    "${X:-rm} x",
    'set -- rm x; "$@"',
    "eval $X",
    'bash -c "$X"',
    "echo cm0geA== | base64 -d | sh",
    "bash <<EOF\nrm x\nEOF",
    "bash <<< 'rm x'",
    "sh -s",
    "source <(echo rm x)",
    ". /dev/stdin",
    "bash /dev/fd/3",
    "$'\\x72m' x",
    "{rm,-rf,x}",
    "r? x",
    "ls | xargs -I{} {} x",
    "echo 'unbalanced",
    'echo "unbalanced',
    "echo $(unbalanced",
    "echo \\",
    "env -S'rm\\_x'",
    "env -S 'rm${IFS}x'",
    "echo rm x | xargs env",
    "echo rm x | xargs -0 sh -c",
    "echo rm x | sh //dev/stdin",
    "echo rm x | sh /tmp/../dev/stdin",
    "echo rm x | sh ../../../dev/fd/0",
    "cd /dev; echo rm x | sh stdin",
    ". //dev/stdin",
    "echo rm x | bash -eo pipefail",
    "echo rm x | bash -euo pipefail",
    "{rm," + "a" * 500 + "}",
    "{" + "a" * 500 + ",rm} x",
    '{"r m",rm} x',
]


@pytest.mark.parametrize("line", [*HIDDEN, *OPEN])
def test_a_command_is_found_wherever_it_stands_in_the_line(line):
    assert runs(line)


@pytest.mark.parametrize("line", OPEN)
def test_a_line_that_only_the_shell_can_read_may_run_anything(line):
    assert any(WILD in command for command in commands_in(line))


@pytest.mark.parametrize("mark", ["\r", "\v", "\f", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("line", ["echo a{}#; touch y", "{}ls", "ls{}", "echo 'a{}'"])
def test_a_line_with_a_character_that_hides_or_ends_lines_elsewhere_may_run_anything(line, mark):
    assert runs(line.format(mark))
    assert plain_script(f"bash -c 'git status'{mark}#; touch x") is None
    assert plain_script(f"bash -c 'git status{mark}'") is None


@pytest.mark.parametrize(
    "line",
    [
        "echo hi > made.txt",
        "echo 'a; rm x'",
        'echo "don\'t rm x"',
        "ls # don't rm x",
        "git rm x",
        "git commit -m 'rm x'",
        "cat <<'EOF'\n$(rm x) don't\nEOF",
        "cat <<EOF > f\nrm x don't\nEOF",
        "cat <<-EOF\n\trm x\n\tEOF",
        "[ -f rm ] && echo x",
        "[[ -f rm ]] && echo x",
        "echo $HOME $((1+2))",
        "ls *.py",
        "for f in a b; do echo $f; done",
        "npm run build 2>&1 | tail -5",
        "grep -r 'foo(' .",
        "bash script.sh",
        "bash -eo pipefail script.sh",
        "bash scripts/dev/build.sh",
        "echo ${X:-default} ${Y:-${Z}} ${#A}",
        'echo "${X:-"a b"}"',
        "cat <<'E O F'\nrm x\nE O F\necho",
        "env -u X -C /tmp ls",
        "bash --version",
        "timeout 5 make test",
        "unknown check .",
        "unknown $FILE *.py",
        "npx tsc --noEmit -p .",
        "uv run pytest -k 'this or that'",
        "X=1",
        "",
    ],
)
def test_what_only_looks_like_the_command_is_not_it(line):
    assert not runs(line)


@pytest.mark.parametrize(
    "line, pattern, found",
    [
        ("git $X", "git push*", True),
        ("git $X", "git*", True),
        ("git status $X", "git push*", False),
        ("cat /etc/pass*", "cat /etc/passwd", True),
        ("cat /etc/host*", "cat /etc/passwd", False),
        ("echo x > /etc/passwd", "echo * > /etc/*", True),
        ("make $T", "make deploy", True),
        ("git push origin", "git push ????????", False),
    ],
)
def test_what_the_shell_puts_in_place_may_be_what_the_pattern_says(line, pattern, found):
    assert runs(line, pattern) is found


@pytest.mark.parametrize(
    "line, script",
    [
        ("/bin/bash -lc 'echo hi'", "echo hi"),
        ("bash -c 'a; b'", "a; b"),
        ("bash -c \"sh -c 'x y'\"", "x y"),
        ("/work/project/bash -c 'x'", None),
        ("./sh -c x", None),
        ("bash -c $X", None),
        ('bash -c "echo $X"', None),
        ("bash -c x y", None),
        ("bash -c x > f", None),
        ("bash -c x <<E\nrm y\nE", None),
        ("X=1 bash -c x", None),
        ("bash --rcfile evil -c x", None),
        ("bash -c x; rm y", None),
        ("echo hi", None),
        ("bash -c 'x", None),
    ],
)
def test_only_a_plain_shell_of_the_system_with_one_script_is_unwrapped_for_an_allow(line, script):
    assert plain_script(line) == script


@pytest.mark.parametrize(
    "line",
    [
        "sudo " * 9000 + "rm x",
        "$(" * 20_000,
        "`" * 20_001,
        "bash -c '" * 3000,
        "${" * 20_000 + "}" * 20_000,
        "cat <<E\n" + "$(" * 20_000 + "\nE",
        "sudo " + "'rm x' " * 5000,
        "$(a " * 200 + ")" * 200,
        "eval " * 5000 + "rm x",
        "su " + "-csu " * 250 + "rm x",
        "env " + "-SSSScccc'env x' " * 280 + "rm x",
    ],
)
def test_what_is_too_much_to_read_may_run_anything(line):
    assert runs(line)


@settings(max_examples=300)
@given(st.text(alphabet="ab rm'\"\\$(){}`<>|&;\n#*?[]=-", max_size=40))
def test_every_line_can_be_looked_at(line):
    assert commands_in(line)
    assert plain_script(line) is None or isinstance(plain_script(line), str)


@settings(max_examples=300)
@given(
    before=st.sampled_from(
        ["", "a; ", "a && ", "X=1 ", "sudo ", "( ", "$( ", "`", "bash -c '", "if a; then ", "\n"]
    ),
    after=st.text(alphabet="ab'\"\\$(){}`<>|&;\n#", max_size=12),
)
def test_nothing_that_follows_hides_a_command(before, after):
    assert runs(f"{before}rm x {after}")
