#!/bin/sh
# Shows that the image's layout works, without an image: a minimal Debian as read-only root, an ordinary user, one
# writable folder. Needs root (mount, chroot) and debootstrap. The Debian is kept in tmp/rootfs for the next time.
set -eu
cd "$(dirname "$0")/../.."

suite=bookworm
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
rootfs=$PWD/tmp/rootfs
uid=10001 # as in Dockerfile

say() { printf '== %s\n' "$*"; }
die() {
	printf '== FAILED: %s\n' "$*" >&2
	[ -z "${log:-}" ] || sed 's/^/   | /' "$log" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die "must be root, to mount and chroot"
if ! command -v debootstrap >/dev/null; then
	say "INSTALLING debootstrap with apt-get"
	apt-get update -q && apt-get install -y -q --no-install-recommends debootstrap
fi

say "building the static binary"
make -s build
if ldd bin/ax >/dev/null 2>&1; then die "bin/ax is not static"; fi

if [ ! -e "$rootfs/complete" ]; then
	say "making a minimal Debian in $rootfs"
	rm -rf "$rootfs"
	mkdir -p "$rootfs"
	debootstrap --variant=minbase --include=ca-certificates,python3-minimal "$suite" "$rootfs" "$mirror" >"$rootfs.log" 2>&1 ||
		die "debootstrap, see $rootfs.log"
	touch "$rootfs/complete"
fi

work=$(mktemp -d)
log=$work/ax.log
data=$work/data
: >"$log"
pid=
cleanup() {
	if [ -n "$pid" ]; then kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; fi
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

install -m 0755 bin/ax "$rootfs/usr/local/bin/ax"
mkdir -p "$rootfs/data"
install -d -m 0700 -o $uid -g $uid "$data"
chmod 0755 "$work"

# inside: COMMAND… as the ordinary user on the read-only root, in mounts of its own that end with it. It takes the
# place of the (sub)shell that calls it, so that a signal to that one reaches the command.
inside() {
	exec unshare --mount --propagation private /bin/sh -euc '
		rootfs=$1 data=$2 uid=$3
		shift 3
		mount --bind "$rootfs" "$rootfs"
		mount -o remount,bind,ro "$rootfs"
		mount --bind "$data" "$rootfs/data"
		mount -t proc proc "$rootfs/proc"
		mount --bind /dev "$rootfs/dev"
		exec chroot --userspec="$uid:$uid" "$rootfs" "$@"' inside "$rootfs" "$data" "$uid" "$@"
}

say "nothing but /data can be written to"
(inside /bin/sh -c '
	[ "$(id -u)" != 0 ] || { echo "runs as root"; exit 1; }
	for place in / /tmp /var/tmp /usr/local/bin /etc; do
		if (: >"$place/proof") 2>/dev/null; then echo "$place can be written to"; exit 1; fi
	done
	: >/data/proof && rm /data/proof') >"$log" 2>&1 || die "the layout is not read-only"

port=$((20000 + $$ % 20000))
export AX_URL="http://127.0.0.1:$port" AX_TOKEN="rootfs-proof-token-$$-0123456789abcdef"
say "starting ax --mode=all as user $uid on $AX_URL"
inside /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/data AX_DATA=/data AX_LISTEN="127.0.0.1:$port" \
	AX_ADMIN_PASSWORD="rootfs proof $$ long enough" AX_BOOTSTRAP_TOKEN="$AX_TOKEN" \
	/usr/local/bin/ax --mode=all >"$log" 2>&1 &
pid=$!

# asks PATH: true when the answer is 200.
asks() { python3 -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=5)' "$AX_URL$1" 2>/dev/null; }
for path in /healthz /readyz; do
	tries=0
	until asks "$path"; do
		kill -0 "$pid" 2>/dev/null || die "ax ended"
		tries=$((tries + 1))
		[ "$tries" -lt 120 ] || die "$path is not 200 after a minute"
		sleep 0.5
	done
	say "GET $path is 200"
done

cat >"$work/jobs.yaml" <<'JOBS'
version: v1
job:
  name: proof_shell
  exec:
    type: shell
    command: echo "shell as $(id -u)"
---
version: v1
job:
  name: proof_python
  exec:
    type: shell
    command: python3 -c 'import os; print("python as", os.getuid())'
JOBS
bin/ax apply -f "$work/jobs.yaml" || die "ax apply"
for job in proof_shell proof_python; do
	bin/ax --json trigger "$job" --wait >"$work/instance.json" || die "$job did not succeed: $(cat "$work/instance.json")"
	id=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$work/instance.json")
	word=${job#proof_}
	bin/ax logs "$id" | grep -q "$word as $uid" || die "the log of $job lacks \"$word as $uid\""
	say "$job ran as user $uid"
done

say "stopping it"
kill "$pid"
wait "$pid" || die "ax ended with $? after SIGTERM"
pid=
say "PASSED: static binary, read-only root, ordinary user, only /data written to"
