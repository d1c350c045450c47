"""Programs by what they do with their arguments, for the reading of command lines.

A wrapper runs a command that is among its arguments. A plain program does not. Of every other program that is not known: a
rule that denies then looks at each word behind it.
"""

from typing import Final

SHELLS: Final = frozenset("sh bash dash zsh ksh mksh ash fish rbash".split())
WRAPPERS: Final = frozenset(
    "sudo doas su runuser env nohup nice ionice chrt taskset prlimit setarch time timeout stdbuf setsid"
    " setpriv xargs parallel command exec builtin busybox toybox chroot unshare nsenter flock watch script"
    " strace ltrace ssh trap find fd coproc proot systemd-run start-stop-daemon dbus-run-session firejail"
    " bwrap catchsegv entr function for select".split()
)
ADDS_ARGUMENTS: Final = frozenset("xargs parallel entr".split())
"""They run what follows with more arguments than the line shows."""
RESERVED: Final = frozenset("! { } if then else elif fi do done while until [[ ]] esac in".split())
"""Words of the shell before a command."""
SOURCES: Final = frozenset({"source", ".", "eval"})
PLAIN: Final = frozenset(
    ": [ [[ test true false echo printf pwd cd pushd popd dirs ls dir vdir tree cat tac head tail less"
    " more nl od xxd hexdump strings wc sort uniq cut paste join comm tr fold fmt column expand rev shuf"
    " seq split csplit tee grep egrep fgrep rg ag ack sed gsed jq yq diff cmp patch file stat du df touch"
    " mkdir rmdir rm cp mv ln link unlink readlink realpath basename dirname mktemp install chmod chown"
    " chgrp dd shred truncate sync sleep date cal uptime uname hostname id whoami who groups tty stty"
    " clear reset ps pgrep kill killall pkill jobs fg bg disown printenv export set unset declare typeset"
    " local readonly alias unalias type which whereis whatis man help info return exit break continue"
    " shift read mapfile readarray getopts let umask ulimit hash history fc bind complete compgen git hg"
    " svn cvs make cmake ninja meson gcc g++ cc c++ clang clang++ ld ar nm objdump python python2 python3"
    " pip pip3 pytest ruff mypy black isort flake8 pylint node deno tsc eslint prettier jest vitest ruby"
    " perl php java javac go rustc rustfmt gofmt cargo npm yarn pnpm curl wget ping dig host nslookup scp"
    " rsync tar gzip gunzip zcat bzip2 xz unxz zstd zip unzip 7z base64 md5sum sha1sum sha256sum sha512sum"
    " cksum openssl gpg sqlite3 psql mysql apt apt-get dpkg brew yum dnf apk pacman gh case".split()
)
"""They do not run their arguments as a command."""
