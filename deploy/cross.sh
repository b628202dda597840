#!/bin/sh
# Builds the agent, or the packages that are named, for another platform on Linux, and prints where each program is:
#   deploy/cross.sh windows-x86_64|linux-aarch64 PROFILE [PACKAGE]...
# For macOS it only checks the types, because nothing here links for it:
#   deploy/cross.sh macos-aarch64 PROFILE
# Rust for that target is taken from rustup where it has it, else from Debian's packages, whose standard library is built
# with it. Programs for Linux are static, so that they run on every distribution.
set -eu
cd "$(dirname -- "$0")/.."

platform=$1 profile=$2 step=build suffix=''
shift 2
[ "$#" -gt 0 ] || set -- orion-agent
case $platform in
    windows-x86_64)
        target=x86_64-pc-windows-gnu compiler=x86_64-w64-mingw32-gcc suffix=.exe
        needs=gcc-mingw-w64-x86-64-win32
        ;;
    linux-aarch64)
        target=aarch64-unknown-linux-gnu compiler=aarch64-linux-gnu-gcc
        needs='gcc-aarch64-linux-gnu libc6-dev-arm64-cross'
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$compiler
        # Cargo takes no flags of a target where there are general ones, which hold for the target alone here.
        export RUSTFLAGS="${RUSTFLAGS:+$RUSTFLAGS }-C target-feature=+crt-static"
        ;;
    macos-aarch64)
        target=aarch64-apple-darwin compiler=true needs=coreutils step=check
        # What is written in C is not compiled: only its build scripts run.
        export CC_aarch64_apple_darwin=true AR_aarch64_apple_darwin=true
        ;;
    *)
        echo "$platform is not a platform that this builds for" >&2
        exit 1
        ;;
esac
command -v "$compiler" >/dev/null || {
    echo "the compiler for $platform is missing; install it with the system packages, such as: apt-get install $needs" >&2
    exit 1
}
folder=${CARGO_TARGET_DIR:-target}/cross
programs=''
for package; do
    program=$package
    [ "$package" != orion-cli ] || program=orion
    programs="$programs $program$suffix"
    set -- "$@" -p "$package"
    shift
done
set -- "$step" --locked --target "$target" --profile "$profile" "$@"
if [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ]; then
    CARGO_TARGET_DIR=$folder cargo "$@" >&2
elif [ -d /usr/lib/rustlib/src/rust/library ] && [ -x /usr/bin/cargo ]; then
    CARGO_TARGET_DIR=$folder RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 /usr/bin/cargo -Zbuild-std=std,panic_unwind "$@" >&2
else
    echo "Rust has no library for $target; add it with: rustup target add $target
Without rustup, Debian's packages have it: apt-get install rustc-web cargo-web rust-web-src" >&2
    exit 1
fi
[ "$step" = build ] || exit 0
[ "$profile" != dev ] || profile=debug
for program in $programs; do
    realpath "$folder/$target/$profile/$program"
done
