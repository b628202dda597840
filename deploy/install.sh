#!/bin/sh
# Makes this machine a device of an Orion backend: downloads the agent, checks it, enrols, and starts it as a service.
#
#   sh -s -- TOKEN [--allow-path PATH]... [--profile NAME] [--name NAME] [--system] [--yes] [--force]
#
#   TOKEN         what `orion devices invite` printed
#   --allow-path  a folder that may be used on this device; without one, you are asked
#   --system      a service of the system (as root), and not one of yours
#   --yes         asks nothing: folders that are not named stay closed
#   --force       become a new device where this machine is one already
#
# Everything is in functions, and the last line calls one: of a download that was cut, nothing runs. This script trusts
# no connection. The agent runs only if its SHA-256 is the one below, and it sends its secret only to a backend whose
# authority is in the token.

die() {
    printf 'orion: %s\n' "$*" >&2
    exit 1
}

# Prints the SHA-256 of a file.
sha256_of() {
    if command -v sha256sum >/dev/null; then
        command sha256sum <"$1" | command cut -c 1-64
    elif command -v shasum >/dev/null; then
        command shasum -a 256 <"$1" | command cut -c 1-64
    else
        die "sha256sum is missing; install coreutils"
    fi
}

# Downloads an address into a file.
fetch() {
    if command -v curl >/dev/null; then
        # shellcheck disable=SC2086 # The options are words of this script.
        command curl -q -fsSL $curl_options --connect-timeout 20 --max-time 900 --retry 3 -o "$2" "$1"
    elif command -v wget >/dev/null; then
        # shellcheck disable=SC2086
        WGETRC=/dev/null command wget -q $wget_options --timeout=60 --tries=2 -O "$2" "$1"
    else
        die "neither curl nor wget is there; install one of them"
    fi
}

# Asks the person which folders may be used, and prints a path a line. The service of the system ($1) has a home folder
# of its own.
# shellcheck disable=SC2088 # The agent knows what ~ is.
ask_for_folders() {
    example='~/files'
    [ -z "$1" ] || example=/srv/files
    printf 'Which folders may be used on this device? One path a line, such as %s. An empty line ends the list.\n' "$example" >&2
    while printf '> ' >&2 && IFS= read -r path && [ -n "$path" ]; do
        case $1$path in
            /* | --system/* | '~' | '~/'*) printf '%s\n' "$path" ;;
            *) printf 'Write the whole path, such as %s.\n' "$example" >&2 ;;
        esac
    done
}

# Asks the manager of services about the service, or stops or starts it.
service() {
    "${ORION_AGENT_SYSTEMCTL:-systemctl}" "${system:---user}" "$1" orion-agent.service >/dev/null 2>&1
}

main() {
    set -eu
    PATH=/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin
    LC_ALL=C
    export PATH LC_ALL
    unset IFS
    umask 022

    base='@BASE@'
    curl_options='@CURL_OPTIONS@'
    wget_options='@WGET_OPTIONS@'

    token='' system='' yes='' folders='' force='' left=$#
    while [ "$left" -gt 0 ]; do
        word=$1
        shift
        left=$((left - 1))
        case $word in
            --allow-path | --profile | --name)
                [ "$left" -gt 0 ] || die "$word needs a value"
                set -- "$@" "$word" "$1"
                shift
                left=$((left - 1))
                [ "$word" != --allow-path ] || folders=yes
                ;;
            --allow-path=* | --profile=* | --name=*)
                set -- "$@" "${word%%=*}" "${word#*=}"
                [ "${word%%=*}" != --allow-path ] || folders=yes
                ;;
            --system) system=--system ;;
            --yes) yes=yes ;;
            --force) force=--force ;;
            -*) die "$word is not an option of this script" ;;
            *)
                [ -z "$token" ] || die "there are two tokens; paste one line of \`orion devices invite\`"
                token=$word
                ;;
        esac
    done
    # From here on, the arguments are those of `orion-agent enroll`.
    case $token in
        orion[0-9]*.*) ;;
        '') die "the token is missing; paste the whole line of \`orion devices invite\`" ;;
        *) die "this is not an enrolment token; one begins with orion1." ;;
    esac

    user=$(id -u)
    if [ -n "$system" ] && [ "$user" != 0 ]; then
        die "--system needs root: put sudo before sh"
    elif [ -z "$system" ] && [ "$user" = 0 ]; then
        die "you are root: run this as the person whose files are used, or add --system for a service of the system"
    fi
    if [ -z "${ORION_AGENT_SYSTEMCTL:-}" ] && ! command -v systemctl >/dev/null; then
        die "this system has no systemd, which starts the service; use \`orion-agent enroll\` and \`orion-agent run\` by hand"
    fi

    case "$(uname -s) $(uname -m) $(getconf LONG_BIT)" in
        'Linux x86_64 64') platform=linux-x86_64 ;;
        'Linux aarch64 64') platform=linux-aarch64 ;;
        *) die "there is no agent for $(uname -s) on $(uname -m) with $(getconf LONG_BIT) bits" ;;
    esac
    sha256='' size=''
    while read -r name digest bytes; do
        if [ "$name" = "$platform" ]; then
            sha256=$digest size=$bytes
        fi
    done <<RELEASES
@RELEASES@
RELEASES
    [ -n "$sha256" ] || die "this backend has no agent for $platform; its admin adds one with: orion-server releases add"

    if [ -z "$folders" ] && [ -z "$yes" ]; then
        if ! (: </dev/tty) 2>/dev/null; then
            die "there is no terminal to ask at: name the folders with --allow-path, or leave all closed with --yes"
        fi
        chosen=$(ask_for_folders "$system" </dev/tty)
        while IFS= read -r path; do
            [ -z "$path" ] || set -- "$@" --allow-path "$path"
        done <<FOLDERS
$chosen
FOLDERS
    fi

    # The home folder is private and may hold programs, which /tmp may not.
    home=${HOME:-}
    [ -n "$(find -H "$home" -prune -type d -user "$user" 2>/dev/null)" ] ||
        die "the home folder \"$home\" does not belong to you; set HOME to the right one"
    folder=$(mktemp -d "$home/.orion-install.XXXXXX") || die "nothing can be written in $home"
    stopped=''
    trap '[ -z "$stopped" ] || service start || :; rm -rf -- "$folder"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    agent=$folder/orion-agent

    printf 'Downloading the agent for %s, %s bytes\n' "$platform" "$size" >&2
    fetch "$base/download/$platform/orion-agent" "$agent" ||
        die "the agent could not be downloaded whole from $base; check the network, and the space in $home"
    found=$(sha256_of "$agent")
    [ "$found" = "$sha256" ] ||
        die "what was downloaded is not the agent of this backend (SHA-256 $found, and not $sha256); nothing of it was run"
    chmod 755 "$agent"
    "$agent" --version >/dev/null || die "the agent does not run on this system"

    if [ -z "$force" ] && known=$("$agent" $system status 2>/dev/null); then
        printf 'This machine is a device already, so the token and the options after it are not used; with --force after the token it becomes a new device:\n%s\n' "$known" >&2
    else
        # The agent of the device that this was holds the state.
        if [ -n "$force" ] && service is-active; then
            stopped=yes
            service stop || die "the agent that runs here does not stop"
        fi
        # By standard input: the list of processes does not show it.
        printf '%s\n' "$token" | "$agent" $system enroll - $force "$@" ||
            die "this device is not enrolled; once that is settled, paste the line again"
    fi
    "$agent" $system install ||
        die "the device is enrolled, and its service does not serve it; correct what is named above, and paste the line again${force:+ without --force}"
    stopped=''
}

{ main "$@"; exit; }
