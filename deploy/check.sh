#!/bin/sh
# Checks this folder with the tools that are installed, and says which are missing. Fails where one finds something.
set -eu
cd -- "$(dirname -- "$0")/.."

status=0
check() {
    if command -v "$1" >/dev/null; then
        "$@" || status=1
    else
        echo "$1 is not installed, so that is not checked: $*" >&2
    fi
}

check shellcheck --shell=sh deploy/*.sh
check shellcheck .ci/run
check dash -n deploy/install.sh
check hadolint deploy/docker/*.Dockerfile
# As the agent fills them in.
check python3 -c 'import plistlib, sys
for name in sys.argv[1:]:
    text = open(name).read().replace("@COPIED@", "yes").replace("@WORDS@", "<string>/bin/true</string>")
    assert plistlib.loads(text.encode())["Label"] == "orion-agent", name' deploy/launchd/*.plist

if command -v systemd-analyze >/dev/null; then
    units=$(mktemp -d)
    trap 'rm -rf -- "$units"' EXIT
    # A program that is there stands for those of the packages.
    for unit in deploy/systemd/*.service; do
        sed -e "s|@EXEC@|/bin/true|; s|@COPIED@|no|; s|/usr/bin/orion-server run|/bin/true|; /^Documentation=/d" "$unit" \
            >"$units/${unit##*/}"
    done
    systemd-analyze verify --man=no "$units/orion-agent.service" "$units/orion-server.service" || status=1
    XDG_RUNTIME_DIR=$units systemd-analyze verify --man=no --user "$units/orion-agent.user.service" || status=1
    for unit in orion-agent orion-server; do
        systemd-analyze security --offline=yes --no-pager "$units/$unit.service" | tail -n 1
    done
else
    echo "systemd-analyze is not installed, so the units are not checked" >&2
fi
exit "$status"
