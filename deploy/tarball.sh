#!/bin/sh
# Packs the programs of a folder into tarballs with one hash for one content, and writes SHA256SUMS beside them:
#   deploy/tarball.sh FOLDER-OF-PROGRAMS OUTPUT
# With the secret key of minisign in MINISIGN_KEY, SHA256SUMS and the agent are signed.
set -eu

programs=$1 output=$2
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
version=$("$programs/orion-agent" --version | cut -d ' ' -f 2)
name=orion-$version-linux-$(uname -m)
# The time of the last change, unless the caller names one.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT

mkdir -p "$output"
"$root/deploy/stage.sh" "$programs" "$stage" "/$name"
tar --create --directory "$stage" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode='u+rwX,go=rX' "$name" | gzip -9 -n >"$output/$name.tar.gz"
cp "$programs/orion-agent" "$output/orion-agent-linux-$(uname -m)"
(cd "$output" && sha256sum "$name.tar.gz" "orion-agent-linux-$(uname -m)" >SHA256SUMS && cat SHA256SUMS)
if [ -n "${MINISIGN_KEY:-}" ]; then
    minisign -S -s "$MINISIGN_KEY" -m "$output/SHA256SUMS"
    # The trusted comment is what `orion-agent upgrade` reads.
    minisign -S -s "$MINISIGN_KEY" -t "orion-agent $version linux-$(uname -m)" -m "$output/orion-agent-linux-$(uname -m)"
fi
