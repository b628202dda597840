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
approvals::no_call_of_a_device_in_quarantine_is_approved_and_its_request_stays_open|the agent tries sooner
at_device::consent::answers::a_call_that_is_done_again_asks_as_the_first_time|the agent asks
at_device::consent::waiting::who_approves_hears_that_the_call_waits_at_the_device_and_no_undo_is_offered|its commands name its folder
at_device::consent::waiting::who_watches_sees_that_a_preview_is_one|the agent says so
at_device::pause::what_runs_ends_and_every_call_is_refused_until_the_owner_resumes_also_over_restarts|its commands name its folder
at_device::the_owners_commands_make_nothing_in_a_folder_that_is_no_agents|the agent makes nothing
ceiling::the_backend_says_that_the_owner_does_not_want_it|its commands name its folder
certificates::a_device_that_is_released_connects_by_itself_soon|the agent tries sooner
commands::a_command_beside_a_file_that_is_being_sent_is_not_asked_about|the agent does not raise it
deletions::a_rename_gives_no_device_what_the_policy_says_of_another_name|the agent tries sooner
refusals::paths_outside_are_refused_however_they_are_written|its commands name its folder
rotation::an_authority_takes_over_without_a_person_at_any_device_that_is_awake|its commands name its folder
stop::many::a_hundred_calls_of_every_kind_are_gone_long_before_their_time_and_nothing_starts_after|has such commands
"
# What backends do since then.
without_the_older_backend="$without_both
approvals::an_approval_does_not_outlive_the_permissions_it_was_given_under|the backend ends the request
approvals::no_call_of_a_device_in_quarantine_is_approved_and_its_request_stays_open|the backend refuses the approval
approvals::the_requests_of_a_disabled_person_end_and_those_of_others_stay|the backend ends the request
approvals::the_requests_of_a_session_end_with_it_and_those_of_others_stay|the backend ends the request
approvals::what_ended_a_request_in_quarantine_ends_it_once_the_device_is_back|the backend ends the request
approvers::a_person_who_is_disabled_or_demoted_meanwhile_gets_nothing_done|the backend ends the request
approvers::at_terminal::|the backend says who may not approve
approvers::outcome::an_approver_learns_how_the_call_of_another_ended|the backend says who waits
approvers::rules::a_rule_covers_what_was_shown_or_nothing_is_approved|the backend says what a rule covers
approvers::rules::no_rule_is_made_of_an_answer_to_a_rule_that_would_go_on_asking|the backend makes no such rule
ceiling::the_backend_says_that_the_owner_does_not_want_it|the backend's hint
deletions::a_rename_gives_no_device_what_the_policy_says_of_another_name|the backend's order of steps
deletions::a_renamed_device_stays_the_same_device_with_the_same_rights|the backend finds a call of a renamed device
deletions::of_two_devices_with_one_name_neither_is_removed_by_it|the backend refuses the name
enrolment::a_device_whose_answer_was_lost_goes_on_where_it_was|the backend's audit names the device of a certificate
plans::who::a_plan_whose_permissions_changed_ends_when_it_is_approved|the backend ends the plan
plans::who::a_step_does_not_run_after_a_change_of_permissions_while_its_plan_runs|the backend ends the plan
policy::a_policy_comes_to_its_devices_and_goes_back_by_version|the backend's hint
policy::an_example_that_needs_a_devices_home_keeps_no_accepted_policy_from_loading|the backend loads the policy
policy::counted::|the backend's history
policy::history::|the backend's history, in a database of today
policy::ten_denials::ten_denials_each_with_the_deciding_line_and_the_smallest_change|the backend's hints
refusals::a_tool_that_is_not_granted_is_denied_before_its_arguments_are_looked_at|the backend's hints
refusals::an_app_that_is_not_listed_is_not_opened|the backend's hints
refusals::paths_outside_are_refused_however_they_are_written|the backend's hints
rotation::an_authority_takes_over_without_a_person_at_any_device_that_is_awake|the program says what follows
stop::a_person_stops_their_own_calls_and_an_admin_everybodys_on_the_command_line_too|the backend says who stopped them
undo::a_chat_says_that_its_last_change_was_taken_back_elsewhere|the backend's own planner
undo::again::of_a_call_of_somebody_else_no_more_is_told_than_of_none|the backend's answer
undo::in_a_chat_the_last_change_is_taken_back|the backend's own planner
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
