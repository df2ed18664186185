import BusJSON
import BusLogic
import BusSource
import Foundation
import TestFiles
import Testing

/// What the list of changes says of expressions is what they give.
struct ChangelogTests {
    @Test func expressionsGiveWhatTheTableSays() throws {
        let rows = try MarkdownPage(".github/CHANGELOG.md").rows.filter {
            $0.count == 4 && ($0[0].hasPrefix("`{") || $0[0].hasPrefix("`["))
        }
        #expect(rows.count >= 16)
        for row in rows {
            let rule = try JSON(parsing: row[0].trimmingCharacters(in: ["`"]))
            let outcome: String
            do {
                let value = try Expression.compile(rule).evaluate(on: .null)
                outcome = "`\(value.encoded)`"
            } catch let failure as EvaluationFailure {
                outcome = "fails: `\(failure.type ?? "")`"
            } catch is SourceError {
                outcome = "refused"
            }
            #expect(outcome == row[2], "\(row[0])")
        }
    }
}
