#!/bin/sh
# Makes a package for Debian of each program, with its manual pages, completions, units and scripts:
#   deploy/deb.sh FOLDER-OF-PROGRAMS OUTPUT [TARGET]
# TARGET is what Rust calls the platform of the programs, where it is another one. They print their pages themselves, so they
# must run here (binfmt).
# What goes where is in `[package.metadata.deb]` of each program's Cargo.toml.
set -eu

programs=$1 output=$2 target=${3:-}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cargo deb --version >/dev/null 2>&1 || {
    echo 'cargo-deb is missing: cargo install --locked cargo-deb' >&2
    exit 1
}
# The time of the last change, unless the caller names one.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

mkdir -p "$output"
for package in orion-cli orion-server orion-agent; do
    program=$package
    [ "$package" = orion-cli ] && program=orion
    stage=$root/target/packaged/stage/$program
    rm -rf -- "$stage"
    "$root/deploy/stage.sh" "$programs" "$stage" /usr "$program"
    rm -r -- "$stage/usr/share/doc"
    printf '%s (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- %s  %s\n' "$program" \
        "$("$programs/$program" --version | cut -d ' ' -f 2)" 'Orion <orion@example.org>' \
        "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")" | gzip -9 -n >"$stage/changelog.gz"
    (cd "$root" && cargo deb --quiet --locked --no-build --no-strip --no-dbgsym ${target:+--target "$target"} \
        --package "$package" --output "$output/")
done
