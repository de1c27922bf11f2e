#!/bin/sh
# Brings the programs that `make test` needs on Debian and its kin, and says what it does.
# Nothing is fetched but the distribution's own packages. MariaDB comes as its core package and PostgreSQL without a cluster, so without a service;
# the tests start private servers on free loopback ports and never touch one that runs already.
set -eu

say() { printf '== %s\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }

packages=
want() { packages="$packages $*"; }

has mariadbd && has mariadb-install-db && has my_print_defaults || want mariadb-server-core mariadb-client-core
has redis-server || want redis-server
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || want postgresql
has chromium || want chromium
python3 -c "import venv, ensurepip" 2>/dev/null || want python3 python3-venv # plug-ins make virtual environments
has git || want git
has curl || want curl # the executor by hand signs and calls with these two
has openssl || want openssl
if ! has gcc || [ ! -e /usr/include/stdlib.h ]; then want gcc libc6-dev; fi # the race detector links with it
if ! has fc-list || ! fc-list 2>/dev/null | grep -qi 'cjk'; then want fontconfig fonts-noto-cjk fonts-dejavu-core; fi

if [ -z "$packages" ]; then exit 0; fi

missing() {
	say "MISSING:$packages"
	say "$1"
	# In CI an absent store or browser is a failure; elsewhere the test runner says what was not tested.
	if [ "${CI:-}" = true ]; then exit 1; fi
	exit 0
}

has apt-get || missing "this is no Debian: install their like yourself"
if [ "$(id -u)" = 0 ]; then
	as_root=
elif has sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
	as_root=sudo
else
	missing "run as root: apt-get install$packages"
fi

say "INSTALLING with apt-get${as_root:+ (through sudo)}:$packages"
export DEBIAN_FRONTEND=noninteractive
case "$packages" in *postgresql*) # no server is to be set up beside the program
	$as_root mkdir -p /etc/postgresql-common/createcluster.d
	echo 'create_main_cluster = false' | $as_root tee /etc/postgresql-common/createcluster.d/ax.conf >/dev/null
esac
$as_root apt-get update -q </dev/null || say "apt-get update failed; trying with the lists that are here"
# shellcheck disable=SC2086
$as_root apt-get install -y -q --no-install-recommends $packages </dev/null || missing "apt-get install failed, see above"
say "installed:$packages"
