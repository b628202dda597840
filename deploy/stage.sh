#!/bin/sh
# Puts programs with their manual pages and completions below a folder, as a package has them:
#   deploy/stage.sh FOLDER-OF-PROGRAMS DESTINATION PREFIX [PROGRAM]...
set -eu

programs=$1 destination=$2 prefix=$3
shift 3
[ "$#" -gt 0 ] || set -- orion orion-server orion-agent
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
share=$destination$prefix/share
pages=$(mktemp -d)
trap 'rm -rf -- "$pages"' EXIT

for program; do
    install -D -m 0755 "$programs/$program" "$destination$prefix/bin/$program"
    "$programs/$program" man "$pages" >/dev/null
done
for page in "$pages"/*; do
    install -D -m 0644 "$page" "$share/man/man1/${page##*/}"
    gzip -9 -n -f "$share/man/man1/${page##*/}"
done
case " $* " in
    *' orion '*)
        mkdir -p "$share/bash-completion/completions" "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d"
        "$programs/orion" completion bash >"$share/bash-completion/completions/orion"
        "$programs/orion" completion zsh >"$share/zsh/vendor-completions/_orion"
        "$programs/orion" completion fish >"$share/fish/vendor_completions.d/orion.fish"
        ;;
esac
install -D -m 0644 "$root/LICENSE" "$share/doc/orion/copyright"
