"""Command lines that try to run a program past a rule that denies it, made of templates, at random.

A template has a place for the command (`@C`; in quotes `@Q`, within double quotes `@D`), for another command (`@S`), for a
program that may run its arguments (`@W`) and for an option (`@O`). Commands are lines of templates themselves. Half of the
lines are changed at a few places, so that quotes, brackets and documents do not end where they should.
"""

import random
import re
import shlex

# The program is called `rm`, `touch` or `mk2`; `$X` is `rm` and `$M` is `rm v` in the environment of the shells.
COMMANDS = [
    'rm x', "'rm' x", "r''m x", '"rm" x', '\\rm x', '/bin/rm x', '$X v', '$M', '/bin/r[m] x', '/bin/r? x',
    '$(printf r%s m) x', 'touch x', '{rm,x}', 'r${Z}m x', 'env rm x', 'mk2 v', '/mk/mk[2] v', '/mk/mk<-> v', 'rm\tx',
    'touch\\\n x', '${X} v', '"$X" v', '=rm x', '~/../bin/rm x', '%rm', 'rm$IFS-f', 'R=rm; $R x', '`echo rm` x',
    '${A:+rm} x', "$'rm' x", 'eval rm x', 'command rm x', '/bin/rm<->x', "'a[$(rm x)]'", 'a[$(rm x)]',
    'a\\[\\$\\(rm\\ x\\)\\]', '$((a[$(rm x)]))',
]  # fmt: skip
TEMPLATES = [
    '@C', '@C; @S', '@S; @C', '@S && @C', '@S || @C', '@S | @C', '@S |& @C', '@S & @C', '(@C)', '{ @C; }', '! @C',
    'time @C', 'echo $(@C)', 'echo "$(@C)"', 'echo `@C`', 'echo a@Qb', 'echo @Q', 'echo "a@Db"', 'echo ${A:-@C}',
    'echo "${A:-@C}"', 'echo ${A:-$(@C)}', 'echo $(( $(@C) ))', 'cat <<E\n@C\nE', "cat <<'E'\n@C\nE",
    'cat <<-E\n\t@C\n\tE', 'cat <<E\n$(@C)\nE', 'cat <<E | @W\n@C\nE', 'cat <<"E"\n@C\nE\n@S', 'cat <<E; @S\n@C\nE',
    'cat <<\\E\n@C\nE', 'cat <<< @Q', 'cat <<< "$(@C)"', '@W @C', '@W @Q', '@W @O @C', '@W @O@Q', '@W @O=@Q',
    '@W -- @C', 'sh -c @Q', 'bash -c @Q', 'zsh -c @Q', 'fish -c @Q', 'bash -lc @Q a b', 'eval @Q', 'eval @C',
    'trap @Q EXIT', 'trap -- @Q 0', 'f() { @C; }; f', 'function f { @C }; f', 'if @C; then @S; fi',
    'if @S; then @C; fi', 'if @S; then :; else @C; fi', 'while @C; do break; done', 'until @C; do break; done',
    'for i in a b; do @C; done', 'for i in $(@C); do :; done', 'for i in @Q; do $i; done',
    'for i in @Q; do eval $i; done', 'case a in a) @C;; esac', 'case $(@C) in *) :;; esac',
    'select i in a; do @C; done', 'coproc @C', 'A=@Q; $A', 'A=@Q; eval "$A"', 'A=@Q @S', 'A=@Q @W @S',
    'export A=@Q; @S', 'A=$(@C)', 'alias z=@Q\nz', 'PROMPT_COMMAND=@Q', 'PS4=@Q; set -x; @S', 'printf -v @Q y',
    'printf @Q a', 'printf %s @Q', 'printf %d @Q', "printf '%b' @Q", 'read @O @Q y < f', 'read y @Q < f',
    'test @Q -eq 1', 'test @O @Q', '[ @Q -gt 0 ]', '[ @O @Q ]', '[ -n a -a @Q -eq 1 ]', '[[ @Q -eq 1 ]]',
    '[[ @O @Q ]]', '[[ a =~ @Q ]]', '[[ a == @C ]]', 'let @Q', '(( @C ))', 'unset @Q', 'unset -v @Q', 'exit @Q',
    'return @Q', 'shift @Q', 'break @Q', 'wait @Q', 'wait -n @Q', 'jobs @O @Q', 'ulimit @O @Q', 'umask @Q',
    'kill @O @Q', 'cd @Q', 'pushd @Q', 'dirs @Q', 'type @O @Q', 'which @O @Q', 'hash @O @Q', 'set @O @Q; @S',
    'set -- @C; "$@"', 'set -- @C', 'declare @O A=@Q', 'typeset @O @Q', 'readonly @Q', 'export @O @Q', 'local A=@Q',
    'mapfile @O @Q < f', 'source @Q', '. ./@Q', 'exec @C', 'exec @O @C', 'exec 3>@Q', '@S > @Q', '@S >> @C',
    '@S >& @C', '@S &> f @C', '@S 2>&1 @C', '@S <> @C', '@S >| @C', '@S < <(@C)', '@S > >(@C)', '@C > f', '> f @C',
    '2> f @C', '@S # @C', '@S #@C', '@S#@C', '# @C\n@S', "# '\n@C", '@S # "\n@C #"', '@S \\\n @C', '@S \\\n; @C',
    '@S\\\n@C', "'@C", '"@C', "@S '\\' ; @C ; echo '\\'", "@S '\\\\\\;'@C", "eval '@S a\\\\\\; @C'", 'xargs @C < f',
    'xargs @O @C < f', 'xargs -I{} @C < f', 'xargs -I% sh -c @Q < f', 'xargs -a l @C', 'find . -exec @C \\;',
    'find . -exec @C {} +', "find . -execdir @C ';'", 'find f @O @Q', 'find . -name f -exec @W @C \\;',
    'find . -exec sh -c @Q \\;', 'sed @Q f', "sed -n '1@Q' f", "sed 's/a/b/;@C' f", 'sed -e p -e @Q f',
    "sed 's/[^]/@C/e' f", "sed '1e @C' f", 'awk @Q f', 'awk \'BEGIN{system("@C")}\'', "awk -v A=@Q 'BEGIN{print A}'",
    'awk \'BEGIN{print "@C" | "sh"}\'', 'echo @Q | sh', 'echo @Q | @W', 'echo @Q | bash -s', 'echo @Q | xargs',
    'echo @Q | xargs @W', 'echo @Q | xargs -0 sh -c', 'echo @Q > z; sh z', 'echo @Q > z; . ./z',
    'echo @Q > z; chmod +x z; ./z', 'git @O @Q', 'git log @O @Q', "git -c alias.z='!@C' z",
    'tar cf /dev/null @O @Q f', 'tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=@Q f', 'sort @O @Q f',
    'make @O @Q', "make -f - <<< 'a:; @C'", 'env @O @C', 'env A=1 @C', 'env -S @Q', 'env A=@Q @S', 'nice @O @C',
    'timeout @O 5 @C', 'timeout 5 @C', 'time -p @C', 'nohup @C', 'setsid @C', 'stdbuf -oL @C', 'strace @O @Q ls',
    'strace -f @C', 'chrt -b 0 @C', 'flock l @C', 'flock l -c @Q', 'script -qc @Q /dev/null', 'repeat 2 @C',
    'for i (a) @C', 'if [[ -n a ]] @C', 'if (true) { @C }', 'while (true) { @C; break }', '{ @S } always { @C }',
    '- @C', 'noglob @C', 'nocorrect @C', 'begin; @C; end', 'and @C', 'not @C', 'if true; @C; end',
    'switch a; case a; @C; end', 'for i in a; @C; end', 'function f; @C; end; f', 'echo (@C)', 'set A (@C)',
    'echo *(e:@Q:)', 'echo f(e:@Q:)', 'echo ${A:=@Q}', 'echo ${A/a/$(@C)}', 'echo "$A[@Q]"', 'echo $A[@C]',
    'A[@C]=1', 'A=(@C)', 'A+=(@Q); "${A[@]}"', 'echo <(@C)', 'echo =(@C)', 'dpkg --status-logger=@Q -i f',
    'unknown @O @Q', 'unknown @O@Q', 'unknown @O=@Q', "argparse 'n=!@C' -- -n 1",
    'string replace -r a @Q f | source', 'math @Q', '@S\r@C', '@S\x0c@C', '@S\xa0@C', '@S\u2028@C', '@S\u3000; @C',
    'echo \xe9; @C', '\xe9=@Q @C', '!!', '!@C', '^a^@C', '@C &!', '@C &|', '@S;@C', '@S;;@C', ';@C', '&&@C', '|@C',
    '@S {a,@C}', '@S [@C]', '@S @C', '@S ~@C', "@S $'@C'", '@S $"@C"', '@S $[@C]', '@S @(@C)', '@S\n@C',
]  # fmt: skip
OTHERS = [
    'true', 'echo a', 'ls', 'cat f', 'pwd', ':', 'git status', 'A=1', 'printf a', 'cd .', 'test -f f', 'sleep 0',
    'grep a f', "echo 'a b'", 'echo "$A"', 'cat <<E\na\nE', 'ls *', 'wc -l < f', '[ -f f ]', 'echo a # c',
    'if true; then ls; fi', 'for i in a b; do echo $i; done',
]  # fmt: skip
WRAPPERS = (
    "env nice nohup time command exec builtin sudo doas timeout xargs stdbuf setsid strace unknown ssh flock eval"
    " source trap sh bash zsh fish dash perl python3 noglob - not and or begin find git sed awk tar sort echo"
    " printf cat tee less man make node npm cargo go gcc ./z a/z busybox watch script chrt taskset parallel at m4"
    " ed vi rg"
).split()
OPTIONS = (
    "-a -b -c -C -d -e -f -F -g -h -i -I -k -l -n -o -O -p -P -q -r -R -s -S -t -T -u -U -v -V -w -W -x -X -z -0"
    " -1 -- + +x -ex -lc --exec --command --eval --init-command -exec -ok -execdir -newerXY -printf -fprintf -c1"
    " -n1 -t1 -u0 -k1 -d@ -p- --filter --to-command --use-compress-program -I{} -i{} -J% --help --version -fls"
    " -delete -nt -ot -ef -eq -lt =~ == = != < >"
).split()
CHANGES = [
    "'", '"', '`', '\\', '\n', '\t', ' ', '#', ';', '&', '|', '(', ')', '{', '}', '[', ']', '!', '*', '?', '~', '=',
    ',', '^', '%', '-', '<', '>', '$', '@', '+', ':', '1', 'a', '\\\n', '$(', '<<E\n', '\nE\n', '&&', '||', "\\'",
    "'\\''", '\\\\', '<->', '<1-2>', '[[ ', ' ]]', '((', '))', '$((', '${A:-', '; ', '<<<', '<(', '|&', '&>', '2>&1',
    '>|', '{a,b}', '{}', '\xe9', '\xa0', '\\;', "$'", '$"',
]  # fmt: skip


def attack_lines(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return list(dict.fromkeys(_changed(chance, _line(chance, 0)) for _ in range(count)))


def _line(chance: random.Random, depth: int) -> str:
    is_plain = depth >= 2 or chance.random() < 0.6
    command = chance.choice(COMMANDS) if is_plain else _line(chance, depth + 1)
    escaped = command.replace("\\", "\\\\").replace('"', '\\"')
    parts = {
        "@C": command,
        "@Q": chance.choice((shlex.quote(command), shlex.quote(command), f'"{escaped}"', f"'{command}'")),
        "@D": escaped,
        "@S": chance.choice(OTHERS) if depth or chance.random() < 0.8 else _line(chance, depth + 1),
        "@W": chance.choice(WRAPPERS),
        "@O": chance.choice(OPTIONS),
    }
    pieces = re.split("(@[CQDSWO])", chance.choice(TEMPLATES))
    return "".join(parts.get(piece, piece) for piece in pieces)


def _changed(chance: random.Random, line: str) -> str:
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 3))):
        at, other = sorted(chance.randrange(len(line) + 1) for _ in range(2))
        how = chance.random()
        if how < 0.6:
            line = line[:at] + chance.choice(CHANGES) + line[at:]
        elif how < 0.8:
            line = line[:at] + line[at + 1 :]
        elif how < 0.9:
            line = line[:other] + line[at:]
        else:
            line += chance.choice(("\n", "; ", "&& ", " ")) + _line(chance, 2)
    return line
