"""What a shell line may run, found in every way of writing it that is cheap to see through."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operable.gate.policy.shell.command_line import commands_in, plain_script
from operable.gate.policy.shell.text import WILD, may_match


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
    "trap -- 'rm x' EXIT",
    "trap 'rm x' --",
    "[ 'a[$(rm x)]' -eq 0 ]",
    "[ 0 -eq 'a[$(rm x)]' ]",
    "[ x ] && [ $A -eq 0 ]; rm x",
    "ls | xargs rm -f",
    "ls | xargs rm",
    "ls | xargs -n1 rm",
    "xargs -a list rm",
    "xargs -d , -I{} rm {}",
    "xargs env -I x rm",
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
# Lines with which a deny of `rm` was passed: each runs it in bash, in zsh or through a program.
PASSED_ONCE = [
    "(true)#'\nrm x #'",
    "((1))#'\nrm x #'",
    "f()#'\n{ rm x #'\n}; f",
    "case x in x)#'\nrm x #'\nesac",
    "echo \\\n#'\nrm x #'",
    "echo $(case x in x) rm x;; esac)",
    'echo "$(case x in x) rm x;; esac)"',
    "cat <<E\n$(case a in a) rm x;; esac)\nE",
    "echo $(cat <<E\n) '\nE\nrm x #'\n)",
    "echo $(: # )'\nrm x #'\n)",
    "echo \"$(: # )'\nrm x #'\n)\"",
    "echo ${x:-\"'\"'}' }; rm x #'",
    "cat <<EF\nE\\\nF\nrm x",
    "cat <<E\\\nF\nEF\nrm x",
    "cat <<-'\tE'\n\tE\nE\nrm x",
    'cat <<E\n$(echo ")" ; rm x)\nE',
    "find /bin/ -name 'r[m]' -exec {} x \\;",
    "bash +xc 'rm x'",
    "bash -oc errexit 'rm x'",
    "env -iS 'PATH=/bin rm' x",
    "ssh -o ProxyCommand='rm x' h",
    "cd /dev; echo 'rm $V' | sh fd/0",
    "cd /dev/fd; echo rm x | sh 0",
    "shopt -s extglob\ntouch rm\n@(rm) x",
    "=rm x",
    "echo *(e:'rm x':)",
    "mapfile -C 'rm x;:' -c 1 < /etc/passwd",
    "split --filter='rm x' /etc/hostname",
    "split --filt='rm x' /etc/hostname",
    "test -v 'a[$(rm x)]'",
    "[[ 'a[$(rm x)]' -eq 1 ]]",
    "printf -v 'a[$(rm x)]' y",
    "printf %d 'a[$(rm x)]'",
    "let 'a[$(rm x)]=1'",
    "unset 'a[$(rm x)]'",
    "read 'a[$(rm x)]' < f",
    "exit 'a[$(rm x)]'",
    "x='a[$(rm x)]'; echo $((x))",
    "PS4='$(rm x)'; set -x; :",
    "echo 'rm x' > f; BASH_ENV=f bash -c :",
    "echo 'rm x' > f; ENV=f sh -i",
    "export PATH=.; ls",
    "for PATH in .; do ls; done",
    "read PATH < f; ls",
    "hash -p /bin/rm zz; zz x",
    "alias z='rm'\nz x",
    "jobs -x rm x",
    "git -c alias.z='!rm x' z",
    "git submodule foreach rm x",
    "git bisect run rm x",
    "git rebase -x 'rm x' main",
    "git config alias.z '!rm x'; git z",
    "git clone --upl='rm x' a b",
    "git fetch ext::'rm x'",
    "sed '1e rm x' f",
    "sed 's/.*/rm x/e' f",
    "awk 'BEGIN{system(\"rm x\")}'",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='rm x' f",
    "tar -I 'rm x' -xf f",
    "rsync -e 'rm x' a b:c",
    "make 'X=$(shell rm x)'",
    "npm exec -c 'rm x'",
    "go test -exec 'rm x' ./...",
    "rg --pre rm x",
    "sqlite3 :memory: '.shell rm x'",
    "echo a &>f rm x",
    "echo 'a\\' '; rm x; echo \\'",
    "\\x72m x",
    "cp /bin/rm zz; ./zz x",
    "ln -s /usr/bin/rm zz; ./zz x",
    "sh /bin/rm x",
    "and rm x",
    "repeat 2 rm x",
    "{ echo a } always { rm x }",
    "echo ! rm x; !rm",
    "f() { rm x; }; f",
    "coproc X { rm x; }; wait",
    "xargs -I% % x < f",
    "xargs -IX /bin/X x < f",
    "env PATH=. ls",
    "watch -n9 'rm x'",
    "docker exec c sh -c 'cd a; rm x'",
    "tmux new -d 'cd a; rm x'",
    "at now <<< 'rm x'",
    "rm\u00a0x; =rm x",
    "env =rm x",
    '""=rm x',
    "''=r\"m\" x",
    "T='5 rm'; timeout $T x",
    "X='--filter=rm x'; split $X f",
    "X='--filter=rm x'; split \"$X\" f",
    "echo --compress-program=rm | xargs sort f",
    "X=-e1e; sed p $X f",
    'A=-exec; find "$A" rm x \\;',
    'find . "$A" "$B" "$C"',
    '[ "$A" "$B" ]',
    "git push $X",
    "su -c 'a|rm${IFS}x'",
    "su bob < f",
    "ssh h -o ProxyCommand='rm x'",
    "ssh h < f",
    "make CC=rm x",
    "pnpm rm x",
    "mypy --python-executable rm x",
    "SECONDS='a[$(rm x)]'",
    "COLUMNS='a[$(rm x)]' ls",
    "for SECONDS in 'a[$(rm x)]'; do ls; done",
    "wait -p 'a[$(rm x)]'",
    "jobs $X rm x",
    "strace -o '|rm x' ls",
    "numactl $X x",
    # found in real shells and programs on 2026-11-18
    "echo Q | sed 's/[^]/x/;a ]/rm x/e'",
    "echo Q | sed '/[^]/p;a ]/e rm x'",
    "echo Q | sed 's|[]|x|;a ]|rm x|e'",
    "cat <<< E\nrm x\nE",
    "cat 0<<<E\nrm x\nE",
    "echo a 2>|rm x",
    "echo a >| rm x",
    "printf %n 'a[$(rm x)]'",
    "printf %ld 'a[$(rm x)]'",
    "printf '%(x)T' 'a[$(rm x)]'",
    "read -p 'rm x' y",
    "set -- PATH .; ls",
    "set -- $X; ls",
    "awk -v $X 1 f",
    "awk -v a=$X 1 f",
    "printf 'rule r' | ninja -f /dev/stdin",
    "pylint --init-hook='rm x' f.py",
    "java -XX:OnError='rm x' Main",
    "brew sh -c 'rm x'",
    "unknown '/bin/rm x'",
    "unknown 'a && sudo -u b rm x'",
    "unknown 'env A=1 rm x'",
    # found by a fuzz that ran what the gate allowed, on 2026-11-18
    "read -t 'a[$(rm x)]' y",
    "read -n 'a[$(rm x)]' y < f",
    "read -p 'a[$($X v)]' y < f",
    "read -t $X y",
    "fish -c ls -c 'rm x'",
    "fish -c ls --init-command='rm x'",
    "eval 'echo a\\\\\\;rm x'",
    "bash -c 'echo a\\\\\\;$X v'",
    "cp /bin/r[m] zz; ./zz x",
    "ls # ; /bin/r[m] x",
    "ls # don't\necho '; /bin/r[m] x #'",
    "argparse 'n=!{rm,x}' -- -n 1",
    "strace -o '!rm' ls",
    "dpkg --status-logger='$X v' -i f",
    "gpg --photo-v 'rm x' --list-keys",
    "gh repo clone a/b -- -u 'rm x'",
    "npm docs x --browser=rm",
    "cargo watch -s 'rm x'",
    "cargo rustc -- -Clinker=rm",
    "go env -w CC=rm",
    "cmake --build . -- --eval='$(shell rm x)'",
    "rustc -Clink-arg=-B. f.rs",
    "git archive --remote='ext::rm x' HEAD",
    "sudo A=1 $(printf r%s m) x",
    "unknown --prepare='rm x' ls",
    "unknown --prepare=rm x",
    "unknown -p'rm x' ls",
    "unknown 'if true; then rm x; fi'",
    "unknown '$X v'",
    "unknown '/bin/r[m] x'",
    "RSYNC_RSH='rm x' rsync a b:c",
    "RSYNC_RSH=rm rsync a b:c",
    "RSYNC_RSH=$X rsync a b:c",
    "ANY='rm x' unknown",
    "env ANY='rm x' unknown",
    "sudo ANY='rm x' unknown",
    "export ANY='rm x'; unknown",
    # a file that the line writes and runs
    "echo '$X v' > z; sh z",
    "echo '/bin/r[m] x' > z; . ./z",
    "cat > z <<'E'\n$X v\nE\nsh z",
    "echo 'rm x' > z; sh z",
    "cat > z <<'E'\nrm x\nE\nsh z",
    "printf 'r%s x' m > z; ./z",
    "printf r > z; echo m x >> z; ./z",
    "rev <<< 'x mr' > z; ./z",
    "{ echo '$X v'; } > z; sh z",
    "rev <<< 'x mr' | tee z; ./z",
    "cp /bin/r[m] z$A; ./z",
]
OPEN = [
    "$RM x",
    "sed -n -e",
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


@pytest.mark.parametrize("line", [*HIDDEN, *PASSED_ONCE, *OPEN])
def test_a_command_is_found_wherever_it_stands_in_the_line(line):
    assert runs(line)


@pytest.mark.parametrize(
    "line",
    ["cp /bin/rm x", "ln -s /usr/bin/rm x", "install -m 755 /bin/rm x", "mv /bin/rm x", "dd if=/bin/rm of=x",
     "cp /usr/bin/r? x", "cp -t . /bin/r''m"],
)  # fmt: skip
def test_a_program_that_is_given_another_name_counts_as_run(line):
    assert runs(line)


@pytest.mark.parametrize("line", OPEN)
def test_a_line_that_only_the_shell_can_read_may_run_anything(line):
    assert any(WILD in command for command in commands_in(line))


@pytest.mark.parametrize("shell", ["/bin/bash", "/usr/bin/zsh", "/bin/sh", "'/bin/dash'"])
def test_settings_that_kimi_repeats_before_each_command_are_read(shell):
    line = f"GIT_TERMINAL_PROMPT=0 SHELL={shell} cd '/work' && touch x"

    assert not runs(line)
    assert runs(line, "touch *")


@pytest.mark.parametrize("setting", ["SHELL=/tmp/bash", "SHELL+=/bin/bash", "SHELL=$x", "GIT_SSH=/bin/bash"])
def test_other_settings_of_what_programs_run_may_run_anything(setting):
    assert runs(f"{setting} cd /work && touch x", "any thing")


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
        "ls # do not rm x",
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
        "git status && ls -la",
        'grep -rn "x y" src | head',
        "python3 -m pytest -q 2>&1 | tail -5",
        "cd sub && npm test",
        'for f in *.py; do wc -l "$f"; done',
        'while read -r line; do echo "$line"; done < f',
        "if [ -f a ]; then cat a; elif [ -f b ]; then cat b; else ls; fi",
        "git commit -m \"$(cat <<'EOF'\nfeat(core): remove it\n\nCo-Authored-By: A <a@b.c>\nEOF\n)\"",
        "git add -A && git commit -m 'Fix it' && git log --oneline -3",
        "git config --get remote.origin.url",
        "find src -type f -name '*.py' -exec grep -l foo {} +",
        "ls | xargs -n1 wc -l",
        "ls | xargs -I{} cp {} there",
        "ls | xargs -d , -I{} cp {} there",
        "sed -n '1,80p' a.py; sed -i 's/a b/c/g' a.py",
        "awk '{print $1}' f | sort | uniq -c | sort -rn",
        "source .venv/bin/activate && pytest -x",
        "NODE_ENV=test npm run build",
        "tar czf a.tgz src",
        "ls \\\n  -la",
        "# what is here\nls",
        "(cd sub && make)",
        "nohup npm start > log 2>&1 &",
        "[ $? -eq 0 ] && echo yes",
        "set -euo pipefail\nls",
        "wc -l $(git ls-files '*.py')",
        "timeout 60 pytest -q",
        "printf '%s\\n' a b",
        "trap 'echo bye' EXIT",
        "ssh -p 22 host uptime",
        "command -v node",
        'find "$DIR" -name "$NAME" -type f',
        'git add "$F" && git status $X',
        'grep x "$F" | wc -l',
        "rg -- $X",
        "COLUMNS=80 ls",
        "sed -E 's/[a-z]+/x/' f",
        '[ "$A" = b ] || ls',
        'cp "$A" "$B"',
        "wait $!",
        "sed -i 's/[[:space:]]*$//' a.py; sed -E 's/[^a-z]+/x/g' f",
        "printf '%-10s|%5s%%\\n' a b; printf '%d\\n' 5",
        'set -- "$@"; set -- a b',
        "read -p 'Go on? ' answer",
        "cat <<< 'rm x' && grep y <<<\"$Z\"",
        "awk -F, -v n=\"$N\" '{print $1}' f",
        "ninja -C build && java -jar app.jar",
        "unknown --title 'now rm x'",
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
        "echo a; " * 16_000,
        "ls " + "a " * 50_000,
        "tool " + "a " * 400,
        "echo '" + "a" * 130_000 + "'",
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


def test_a_program_whose_name_ends_in_a_digit_is_not_hidden_by_the_numbers_of_zsh():
    for line in ("/usr/bin/python<-> x", "/usr/bin/python<1-9> x", "flock l /usr/bin/python<2-> x"):
        assert runs(line, "python3 *")


@pytest.mark.parametrize(
    "line",
    [
        "ls # all of them (also hidden ones); nothing else",
        "cat > build.sh <<'E'\nmake all\nE\nsh build.sh",
        "echo 'make all' > build.sh; chmod +x build.sh; ./build.sh",
        "cp a b && ./run.sh > out.log",
        './run.sh > "$LOG"; ./other.sh',
        "RUST_LOG=debug cargo test -- --nocapture",
        "FOO='a b' unknown --name=value --url http://a/b?c=d",
        "read -r -t 5 -p 'Name: ' name",
        "grep 'a\\\\.b' f",
        "sudo A=1 make",
        "docker run --rm -it image sh",
    ],
)
def test_what_the_fuzz_of_real_shells_closed_leaves_usual_lines_free(line):
    assert not runs(line)


def test_files_that_are_written_and_run_are_compared_in_linear_time():
    line = "".join(f"a{number} > b{number}$X;" for number in range(2000))

    assert runs(line)  # too many to compare: it may run anything


@pytest.mark.parametrize("options", ["-C a", "--no-pager", "-P", "-C a --no-pager", "-C a -C b", '-C "$X"'])
def test_options_in_front_of_a_command_of_git_do_not_hide_it(options):
    assert runs(f"git {options} push origin", "git push*")
    assert not runs(f"git {options} status", "git push*")
