#!/bin/sh
# Builds the agent as `make dist` does in two clones of the last commit, in folders of other names, and compares the
# programs.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

for clone in one another; do
    git clone --quiet "$root" "$folder/$clone"
    echo "building in $folder/$clone"
    env -u CARGO_TARGET_DIR make --directory "$folder/$clone" --no-print-directory shipped-agent
done
cmp "$folder/one/target/dist/orion-agent" "$folder/another/target/dist/orion-agent"
sha256sum "$folder/one/target/dist/orion-agent" | cut -d ' ' -f 1
echo 'both builds are one'
