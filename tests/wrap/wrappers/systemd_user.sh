# A systemd of a user in a room of the linter, as the root of that room (`sudo` in aoi-lint.toml): its units are those of
# ./units, its sockets are in $XDG_RUNTIME_DIR. Prints a line when it can be talked with over the bus that it starts.
#
# systemd moves what it starts into control groups of its own. They are those of a group that is this room's alone: two
# systemds in one group would stop each other's services. Such a group stays when everything in it is killed, so whoever
# comes next takes away what earlier ones have left; one that is in use cannot be removed.
#
# The root of a room may not mount, because it could make writable what is read-only there. In a user namespace of its own it
# may: there the kernel keeps what was mounted before as it is.
set -eu
if [ -z "${1-}" ]; then
    exec unshare --user --map-root-user --cgroup --mount sh "$0" room
fi
if [ "$1" = room ]; then
    mkdir -p /run/systemd/system /run/groups  # the first is what programs look for to know that systemd runs
    mount -t cgroup2 none /run/groups
    for group in /run/groups/aoi-lint-systemd.*; do
        if grep -qs 'populated 0' "$group/cgroup.events"; then
            find "$group" -depth -type d -exec rmdir {} + 2> /dev/null || true
        fi
    done
    # Nobody is in a new one yet, and it may be taken for a left one.
    until group=$(mktemp -d /run/groups/aoi-lint-systemd.XXXXXX) && echo $$ > "$group/cgroup.procs"; do :; done
    exec unshare --cgroup --mount sh "$0" group
fi
umount /run/groups
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p -m 700 "$XDG_RUNTIME_DIR"
SYSTEMD_UNIT_PATH=$PWD/units /lib/systemd/systemd --user --log-target=null < /dev/null &
until systemctl --user is-active --quiet default.target; do
    kill -0 $! || exit 1
    sleep 0.05
done 2> /dev/null
echo ready
wait
