#!/bin/sh
# Runs `make dist` in two clones of the last commit, in folders of other names, and compares what both made: the three
# programs, the tarball and the checksums.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

for clone in one another; do
    git clone --quiet "$root" "$folder/$clone"
    echo "building in $folder/$clone"
    env -u CARGO_TARGET_DIR -u MINISIGN_KEY make --directory "$folder/$clone" --no-print-directory dist
done
diff -r "$folder/one/target/packaged" "$folder/another/target/packaged"
cat "$folder/one/target/packaged/SHA256SUMS"
echo 'both clones made the same files'
