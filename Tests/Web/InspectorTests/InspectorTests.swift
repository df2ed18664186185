import Foundation
import TestFiles
import TestServer
import Testing

private let tools = ["/usr/bin/python3", "/usr/bin/chromium", "/usr/bin/chromedriver"]

/// The script that drives the browser, as a program.
private func script(_ arguments: [String], in directory: String, _ environment: [String: String] = [:]) throws
    -> RunningProgram
{
    let common = [
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": directory, "HOME": directory,
    ]
    let path = Repository.root.appendingPathComponent("Tests/Web/InspectorTests/Browser/run.py").path
    return try RunningProgram(
        [tools[0], path] + arguments,
        environment: common.merging(environment) { _, new in new }, hasInput: true)
}

/// One browser for all tests of a suite: a start takes longer than most of them.
private struct OneBrowser: SuiteTrait, TestScoping {
    @TaskLocal static var session: String?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let directory = TemporaryDirectory()
        let browser = try script(["--browser"], in: directory.path)
        let session = try #require(browser.nextLine())
        try await Self.$session.withValue(session) { try await function() }
        try browser.endInput()
        let outcome = try browser.wait()
        #expect(outcome.status == 0, "\(outcome.errors)")
    }
}

extension Trait where Self == OneBrowser {
    fileprivate static var oneBrowser: Self { Self() }
}

/// The inspector's page in a real browser, served by fluxbus-web in front of a real daemon.
///
/// A script drives Chromium by the WebDriver protocol, one scenario after the other, each in a window of its own; each starts
/// what else it needs in a directory of its own. `FLUXBUS_SCREENSHOTS` names a folder for pictures of every view.
@Suite(
    "Inspector", .serialized, .oneBrowser, .timeLimit(.minutes(10)),
    .enabled(
        if: tools.allSatisfy(FileManager.default.isExecutableFile),
        "Chromium, its driver or Python is missing; deploy/prepare chromium chromium-driver installs them."))
struct InspectorTests {
    /// All scenarios of the script, each a test that is named by it.
    private static let scenarios = [
        "stores_equal_what_the_command_line_says", "changes_show_at_once_and_flash", "filter_by_glob",
        "filter_by_where", "stores_are_in_the_address", "details_tell_who_set_a_value",
        "an_address_that_is_no_text_harms_nothing", "keyboard_alone_goes_through_the_page",
        "a_value_has_a_history", "a_chart_is_zoomed_and_shared", "a_chart_spans_what_the_log_keeps",
        "a_store_has_a_page", "a_store_is_acted_on_and_undone", "what_is_undone_is_undone_now",
        "a_commit_of_many_stores_stays",
        "a_pattern_of_another_client_freezes_nothing", "a_type_is_a_table",
        "log_shows_every_commit", "log_filters_and_pauses", "log_shows_what_is_about_stores_like_this",
        "log_finds_what_is_far_back", "a_click_means_the_row_that_is_seen",
        "log_holds_still_around_a_chosen_commit", "a_commit_shows_the_states_around_it",
        "older_commits_come_as_one_scrolls", "a_bus_without_a_log_shows_commits_as_they_come",
        "what_is_lost_without_a_log_is_told",
        "log_finds_by_payload", "log_finds_by_time", "log_is_filtered_on_a_phone", "log_groups_alike_commits",
        "log_suggests_and_keeps_filters",
        "a_link_shows_the_same_log", "a_commit_is_copied_in_four_ways",
        "time_shows_any_revision", "two_marks_compare", "a_value_of_the_past_tells_its_origin",
        "revert_shows_first_what_it_changes", "the_past_plays", "the_next_change_of_a_store_is_found",
        "a_revert_is_undone",
        "dispatch_shows_first_what_it_changes", "a_refused_dispatch_says_why", "forms_know_every_schema",
        "signing_in_by_link", "signing_in_by_token", "goes_on_after_the_daemon_restarts",
        "tells_of_a_new_epoch", "goes_on_after_the_web_server_restarts",
        "an_event_source_goes_on_exactly",
        "clients_are_listed_and_sent_away", "a_kicked_page_says_so", "health_shows_what_the_bus_counts",
        "health_remembers_what_was_before", "health_says_what_is_wrong", "health_shows_the_members",
        "ctrl_k_goes_anywhere", "small_types_are_open_at_first", "pins_stay_before_the_eyes",
        "flow_shows_who_does_what", "flow_fits_on_a_phone",
        "a_role_sees_only_what_it_may",
        "light_is_accessible", "dark_is_accessible", "a_deep_link_on_a_phone_shows_its_row",
        "light_on_a_phone", "dark_on_a_phone",
        "theme_can_be_switched", "motion_is_reduced_where_that_is_wished",
        "ten_thousand_stores_do_not_stutter", "hostile_states_stay_text", "page_is_quick",
        "page_is_small",
    ]

    private func run(_ arguments: [String]) throws -> RunningProgram.Outcome {
        let directory = TemporaryDirectory()
        let web = [
            RunningProgram.path(of: "fluxbus-web"), "--address", "{bus}", "--listen", "127.0.0.1:{port}",
        ]
        let environment = [
            "FLUXBUSD": RunningProgram.path(of: "fluxbusd"), "FLUXBUS": RunningProgram.path(of: "fluxbus"),
            "FLUXBUS_TYPES": Repository.sampleTypes, "FLUXBUS_BROWSER": OneBrowser.session,
            "FLUXBUS_WEB": String(decoding: try JSONEncoder().encode(web), as: UTF8.self),
            "FLUXBUS_SCREENSHOTS": ProcessInfo.processInfo.environment["FLUXBUS_SCREENSHOTS"],
        ]
        let outcome = try script(arguments, in: directory.path, environment.compactMapValues(\.self)).wait(
            atMost: 300)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        return outcome
    }

    @Test(arguments: scenarios)
    func scenario(_ name: String) throws {
        let outcome = try run([name])
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    }

    /// A scenario that is not listed here would not run.
    @Test func everyScenarioIsListed() throws {
        let outcome = try run([])
        #expect(outcome.output.split(separator: "\n").map(String.init) == Self.scenarios, "\(outcome.errors)")
    }
}
