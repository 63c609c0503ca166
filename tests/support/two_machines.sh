#!/bin/sh
# Runs a command on the first of two machines, "one" (10.77.0.1) and "two" (10.77.0.2), which are namespaces of this
# one: they have a network between them, and each has its own host name, /dev/shm and /tmp (but for this checkout, if it
# is there). Root may do that.
#
#   two_machines.sh COMMAND...
#   two_machines.sh --on HOST COMMAND...            # within the first: as `ssh HOST COMMAND`, in another folder
if [ "$1" = --on ]; then
    shift 2
    cd /
    exec nsenter --target "$SECOND_MACHINE" --net --mount --uts --ipc sh -c "$*"
fi
if [ -z "$ON_FIRST_MACHINE" ]; then
    ON_FIRST_MACHINE=yes exec unshare --net --mount --uts --ipc sh "$0" "$@"
fi
set -e
prepared='mount -t tmpfs none /dev/shm; ip link set lo up'
sh -c "hostname one; $prepared"
own=$(mktemp -d)
mkfifo "$own/fifo"
CHECKOUT=$(cd "$(dirname "$0")/../.." && pwd)
export CHECKOUT
unshare --net --mount --uts --ipc sh -c "exec 3>$own/fifo; hostname two; $prepared"'
mkdir /dev/shm/checkout
mount --bind "$CHECKOUT" /dev/shm/checkout
mount -t tmpfs none /tmp
mkdir -p "$CHECKOUT"
mount --move /dev/shm/checkout "$CHECKOUT"
rmdir /dev/shm/checkout
echo >&3
exec sleep 1000 3>&-' &
SECOND_MACHINE=$!
trap 'kill $SECOND_MACHINE; rm -r "$own"' EXIT
read -r _ <"$own/fifo"
printf 'exec sh "%s" --on "$@"' "$CHECKOUT/tests/support/two_machines.sh" >"$own/agent"       # a path without spaces
ip link add net type veth peer name net netns $SECOND_MACHINE
ip addr add 10.77.0.1/24 dev net
ip link set net up
nsenter --target $SECOND_MACHINE --net sh -c 'ip addr add 10.77.0.2/24 dev net; ip link set net up'
export SECOND_MACHINE
export OMPI_MCA_plm_rsh_agent="sh $own/agent"
set +e
"$@"
