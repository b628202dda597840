#!/usr/bin/env bash
# Prints the resident memory of an agent that is connected and idle, in KiB: the agent as it ships, in
# a demo of its own. Takes the build folder, which holds release/ and dist/. Linux only.
set -euo pipefail

target=$1
work=$(mktemp -d)
demo=
end() {
    [ -z "$demo" ] || kill "$demo" 2>/dev/null || true
    [ -z "$demo" ] || wait "$demo" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT

# The demo starts the programs that lie beside it.
cp "$target/release/orion" "$target/release/orion-server" "$target/dist/orion-agent" "$work/"
"$work/orion" demo --dir "$work/demo" --serve >"$work/out" 2>"$work/err" &
demo=$!
for _ in $(seq 300); do
    grep -qx ready "$work/out" && break
    kill -0 "$demo" 2>/dev/null || { cat "$work/err" >&2; exit 1; }
    sleep 0.1
done
# Long enough for what connecting needed to be given back.
sleep 5
for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/exe" 2>/dev/null)" = "$work/orion-agent" ]; then
        awk '/^VmRSS:/ { print $2 }' "$process/status"
        exit 0
    fi
done
echo "the demo runs no agent" >&2
exit 1
