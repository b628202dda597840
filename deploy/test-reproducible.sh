#!/bin/sh
# Runs `make dist` in two clones of the last commit, in folders of other names, and compares what both made: the three
# programs, the tarball and the checksums. Where they are the same, they replace target/packaged, unsigned. Where they
# differ, both stay where they are.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# Nothing of the caller's decides what is built, or where.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR SOURCE_DATE_EPOCH MINISIGN_KEY

for clone in one another; do
    git clone --quiet "$root" "$folder/$clone"
    echo "building in $folder/$clone"
    make --directory "$folder/$clone" --no-print-directory dist
    mv "$folder/$clone/target/packaged" "$folder/$clone.packaged"
    rm -rf -- "${folder:?}/$clone"
done
if ! diff -r "$folder/one.packaged" "$folder/another.packaged"; then
    trap - EXIT
    echo "the builds differ; look at $folder" >&2
    exit 1
fi
(cd "$folder/one.packaged/programs" && sha256sum ./*)
mkdir -p "$root/target"
rm -rf -- "$root/target/packaged"
mv "$folder/one.packaged" "$root/target/packaged"
echo 'both clones made the same files, which are in target/packaged'
