#!/bin/sh
# Writes what each program is built of, with versions and licences, as SPDX in JSON:
#   deploy/sbom.sh OUTPUT
set -eu

output=$1
cd "$(dirname -- "$0")/.."
cargo sbom --version >/dev/null 2>&1 || {
    echo 'cargo-sbom is missing: cargo install --locked cargo-sbom' >&2
    exit 1
}
mkdir -p "$output"
for package in orion-cli orion-server orion-agent; do
    cargo sbom --cargo-package "$package" --output-format spdx_json_2_3 >"$output/$package.spdx.json"
done
ls -l "$output"/*.spdx.json
