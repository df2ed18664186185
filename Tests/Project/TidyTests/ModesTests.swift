import Testing

/// A request means the same on one machine and on a shared bus, and stays so only where tests try both.
@Suite struct ModesTests {
    /// The test functions that run in both modes. More is always right; fewer wants a reason.
    private static let floor = 400

    @Test func testsOfBothModesDoNotGrowFewer() throws {
        let files = try #require(TidyTests.sources["Tests"]).get()
        let count = files.reduce(0) { $0 + Self.count(in: $1.lines.joined(separator: "\n")) }
        #expect(count >= Self.floor)
    }

    /// The tests of the suites that are `.inBothModes`, without those that are `.aloneOnly`.
    private static func count(in text: String) -> Int {
        let declarations = text.matches(
            of: #/(?m)^ *@(Suite|Test)\b([\s\S]*?)\b(?:struct|class|func) /#)
        var (isInBothModes, count) = (false, 0)
        for declaration in declarations {
            if declaration.1 == "Suite" {
                isInBothModes = declaration.2.contains(".inBothModes")
            } else if declaration.2.contains(".inBothModes")
                || isInBothModes && !declaration.2.contains(".aloneOnly")
            {
                count += 1
            }
        }
        return count
    }
}
