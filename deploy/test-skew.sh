#!/bin/sh
# Tells stories with an older agent and today's backend, and with today's agent and the older backend:
#   deploy/test-skew.sh COMMIT
# The older programs are built from that commit of this repository, in target/older.
set -eu
cd -- "$(dirname -- "$0")/.."

# What an agent and its backend say to each other: how a device becomes one and stays one, calls and their results, files,
# approvals, undo, policies and the owner's limits, and links that break. The older version had all of it. Stories of the
# backend alone or of the agent alone are left out, and those that say below why. `mistakes` has the text of `--help`, which
# is nobody's promise.
stories='approvals:: approvers:: at_device:: audit:: catalogue:: ceiling:: certificates:: commands:: copies:: crashes::
custom_tools:: deletions:: dev_tools:: device_tools:: enrolment:: file_tools:: going_away:: half_done:: half_open:: happy_path::
live_output:: logs:: mutations:: odd_names:: one_use:: plans:: policy:: projects:: queue:: raised:: read_only:: refusals::
renewal:: revoking:: rotation:: service_health:: services:: special_files:: stop:: tools:: transfer:: undo:: unreachable::'
without_both='
mistakes::
custom_tools::servers::a_real_server_reads_and_writes_in_the_granted_folder_and_nowhere_else|its server is from npm
'
# What agents do since the older commit.
without_the_older_agent="$without_both
at_device::consent::waiting::who_watches_sees_that_a_preview_is_one|the agent says so
certificates::a_device_that_is_released_connects_by_itself_soon|the agent tries sooner
commands::a_command_beside_a_file_that_is_being_sent_is_not_asked_about|the agent does not raise it
stop::many::a_hundred_calls_of_every_kind_are_gone_long_before_their_time_and_nothing_starts_after|has such commands
"
# What backends do since then.
without_the_older_backend="$without_both
approvals::an_approval_does_not_outlive_the_permissions_it_was_given_under|the backend ends the request
approvals::the_requests_of_a_disabled_person_end_and_those_of_others_stay|the backend ends the request
approvers::a_person_who_is_disabled_or_demoted_meanwhile_gets_nothing_done|the backend ends the request
approvers::at_terminal::|the backend says who may not approve
ceiling::the_backend_says_that_the_owner_does_not_want_it|the backend's hint
enrolment::a_device_whose_answer_was_lost_goes_on_where_it_was|the backend's audit names the device of a certificate
policy::a_policy_comes_to_its_devices_and_goes_back_by_version|the backend's hint
policy::ten_denials::ten_denials_each_with_the_deciding_line_and_the_smallest_change|the backend's hints
refusals::paths_outside_are_refused_however_they_are_written|the backend's hints
stop::a_person_stops_their_own_calls_and_an_admin_everybodys_on_the_command_line_too|the backend says who stopped them
"

if [ $# -ne 1 ]; then
    echo "usage: $0 COMMIT" >&2
    exit 2
fi
commit=$(git rev-parse --verify --quiet "$1^{commit}") || {
    echo "$1 is no commit of this repository" >&2
    exit 2
}
target=$(realpath -m -- "${CARGO_TARGET_DIR:-target}")
older=$target/older/$(git rev-parse --short=12 "$commit")
if [ ! -d "$older/.git" ]; then
    rm -rf -- "$older"
    git clone --quiet --shared --no-checkout . "$older"
fi
git -C "$older" checkout --quiet --force --detach "$commit"

# `PROTOCOL` of a source tree, as `1.2`.
protocol_of() {
    sed -n 's/^pub const PROTOCOL: .*{ major: \([0-9]*\), minor: \([0-9]*\) };$/\1.\2/p' "$1/shared/wire/src/link.rs"
}
[ -n "$(protocol_of .)" ] || { echo 'the version of the protocol was not found' >&2; exit 1; }
echo "agent and backend of $(git -C "$older" log -1 --format='%h (%ad)' --date=short) speak protocol $(protocol_of "$older"), today's $(protocol_of .)"

(cd -- "$older" && CARGO_TARGET_DIR=$older/target cargo build --locked --bins -p orion-agent -p orion-server)
cargo build --locked --workspace --bins --tests

all=$(cargo test --quiet --locked --workspace --test e2e -- --list)
for module in $stories; do
    case $all in
        *"$module"*) ;;
        *)
            echo "there are no stories $module" >&2
            exit 1
            ;;
    esac
done

# Tells the stories but for those of the lines `$1`, with the variable `$2` set.
tell() {
    left_out=$(printf '%s\n' "$1" | cut -d '|' -f 1) variable=$2
    set --
    for story in $left_out; do
        # One that is gone, or has another name, is to go from the lines.
        case $all in
            *"$story"*) set -- "$@" --skip "$story" ;;
            *)
                echo "there is no story $story" >&2
                return 1
                ;;
        esac
    done
    # shellcheck disable=SC2086 # Names of stories are words.
    env "$variable" cargo test --quiet --locked --workspace --test e2e -- $stories "$@" --test-threads="${SKEW_THREADS:-2}"
}

status=0
echo "the older agent, and today's backend"
tell "$without_the_older_agent" "ORION_TEST_AGENT=$older/target/debug/orion-agent" || status=1
echo "today's agent, and the older backend"
tell "$without_the_older_backend" "ORION_TEST_SERVER=$older/target/debug/orion-server" || status=1
exit "$status"
