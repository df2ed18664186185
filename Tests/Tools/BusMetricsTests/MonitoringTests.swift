import BusJSON
import BusMetrics
import Foundation
import TestFiles
import Testing

/// The dashboard and the alerts, as people use them.
@Suite struct MonitoringTests {
    private static func panels() throws -> [JSON] {
        try JSON(parsing: Repository.text("deploy/monitoring/fluxbus-grafana.json"))["panels"]?.array ?? []
    }

    private static func metrics(in text: String) -> Set<String> {
        Set(text.matches(of: /fluxbus_[a-z_]+/).map { String($0.0) })
    }

    /// Each limit's gauge has the name of what it bounds, which is there as well.
    private static let limits = MetricFamily.all.map(\.name).filter { $0.contains("_limit") }

    @Test func aLimitStandsBesideItsUse() {
        let names = MetricFamily.all.map(\.name)
        #expect(Self.limits.count >= 7)
        for limit in Self.limits {
            let place = names.firstIndex(of: limit) ?? 0
            #expect(place > 0 && names[place - 1] == limit.replacing("_limit", with: ""), "\(limit)")
        }
    }

    /// An alert and a panel hold every limit against what it bounds.
    @Test(arguments: ["alerts.yml", "fluxbus-grafana.json"])
    func everyLimitIsWatched(file: String) throws {
        let text = try Repository.text("deploy/monitoring/" + file).replacing(/\{[^{}]*\}/, with: "")
        for limit in Self.limits {
            #expect(text.contains("\(limit.replacing("_limit", with: "")) / \(limit)"), "\(limit)")
        }
    }

    @Test func everyAlertSaysHowMuchItHurries() throws {
        let text = try Repository.text("deploy/monitoring/alerts.yml")
        let alerts = text.components(separatedBy: "- alert: ").dropFirst()
        #expect(alerts.count >= 13)
        for alert in alerts {
            let severity = alert.firstMatch(of: /labels: \{ severity: ([a-z]+) \}/)?.1
            #expect(severity == "critical" || severity == "warning", "\(alert)")
            #expect(alert.contains(/annotations:\n {10}summary: [A-Z].*\.\n/), "\(alert)")
        }
        let used = Self.metrics(in: text)
        for family in ["fluxbus_cluster_", "fluxbus_effect_"] {
            #expect(used.contains { $0.hasPrefix(family) }, "\(family)")
        }
    }

    @Test func panelsHaveNamesUnitsAndThresholds() throws {
        let panels = try Self.panels()
        let shown = panels.filter { $0["type"] != "row" }
        #expect(panels.contains { $0["type"] == "row" && $0["title"] == "Cluster" })
        let titles = panels.compactMap { $0["title"]?.string }
        #expect(titles.count == panels.count && Set(titles).count == titles.count)
        #expect(Set(panels.compactMap { $0["id"]?.int }).count == panels.count)
        for panel in shown {
            let title = panel["title"]?.string ?? ""
            let defaults = panel["fieldConfig"]?["defaults"]
            #expect(defaults?["unit"]?.string.map { $0 != "none" } == true, "\(title)")
            #expect(defaults?["thresholds"]?["steps"]?.array?.isEmpty == false, "\(title)")
            #expect(panel["description"]?.string?.hasSuffix(".") == true, "\(title)")
        }
        #expect(
            shown.count { ($0["fieldConfig"]?["defaults"]?["thresholds"]?["steps"]?.array?.count ?? 0) > 1 }
                >= 12)
    }

    /// Counts of 12,000 and of 7 have no axis in common.
    @Test func oneAxisHasOneKindOfCount() throws {
        for panel in try Self.panels() where panel["fieldConfig"]?["defaults"]?["unit"] == "short" {
            let used = (panel["targets"]?.array ?? []).compactMap { $0["expr"]?.string }
            let names = Set(used.flatMap { Self.metrics(in: $0) })
            let isDifference = used.allSatisfy { $0.contains(" - ") }
            #expect(names.count == 1 || isDifference, "\(panel["title"]?.string ?? "")")
        }
    }

    @Test func panelsDoNotOverlap() throws {
        var taken: Set<[Int]> = []
        for panel in try Self.panels() {
            let place = panel["gridPos"]
            guard let x = place?["x"]?.int, let y = place?["y"]?.int, let w = place?["w"]?.int,
                let h = place?["h"]?.int
            else {
                Issue.record("\(panel["title"]?.string ?? "") has no place")
                continue
            }
            #expect(x + w <= 24)
            for column in x..<(x + w) {
                for row in y..<(y + h) { #expect(taken.insert([column, row]).inserted) }
            }
        }
    }
}
