#!/bin/sh
# Installs the packages of a folder in a fresh Debian root, runs the programs, purges them, and compares the files:
#   deploy/test-deb.sh FOLDER-OF-PACKAGES
# It needs root and debootstrap.
set -eu

packages=$1
root=$(mktemp -d)
lists=$(mktemp -d)
trap 'rm -rf -- "$root" "$lists"' EXIT

if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning "$packages"/*.deb
else
    echo 'lintian is not installed, so the packages are not checked by it' >&2
fi

# The accounts are compared as well, and their backups and what dpkg and apt note of every package are not.
files() {
    (cd "$root" && find . -xdev ! -path './var/lib/dpkg*' ! -path './var/log*' ! -path './var/cache*' ! -path './tmp*' \
        ! -name 'passwd-' ! -name 'group-' ! -name 'shadow-' ! -name 'gshadow-' ! -name 'sub[ug]id-' | sort)
    cat "$root/etc/passwd" "$root/etc/group"
}

debootstrap --variant=minbase "${SUITE:-bookworm}" "$root" >"$lists/debootstrap" || {
    tail -n 5 "$lists/debootstrap" >&2
    exit 1
}
files >"$lists/before"

cp "$packages"/*.deb "$root/tmp/"
started=$(date +%s)
chroot "$root" sh -c 'dpkg --install /tmp/*.deb'
for program in orion orion-server orion-agent; do
    chroot "$root" "$program" --version
done
chroot "$root" getent passwd orion-agent
# Again, as an upgrade does.
chroot "$root" sh -c 'dpkg --install /tmp/*.deb'
# State that a service of the system would leave.
install -d "$root/var/lib/orion-agent" "$root/etc/orion"
touch "$root/var/lib/orion-agent/lock" "$root/etc/orion/agent.toml"
chroot "$root" dpkg --remove orion orion-server orion-agent
test -e "$root/var/lib/orion-agent/lock"
chroot "$root" dpkg --purge orion orion-server orion-agent
files >"$lists/after"
diff "$lists/before" "$lists/after"
echo "installed, run, removed and purged in $(($(date +%s) - started)) seconds, and nothing is left"
