import TestFiles

/// The targets of `Package.swift`, each with those of ours that it depends on.
struct Manifest {
    let dependencies: [String: Set<String>]
    /// The targets that become programs.
    let programs: Set<String>

    init() throws {
        let lines = try Repository.text("Package.swift").split(separator: "\n").map {
            TidyTests.code(String($0))
        }
        let text = lines.prefix { !$0.contains("swiftLanguageModes:") }.joined(separator: "\n")
        let starts = text.matches(
            of: /\.(target|testTarget|executableTarget|systemLibrary)\(\s*name: "([^"]+)"/)
        let names = Set(starts.map { String($0.output.2) })
        let ends = starts.dropFirst().map(\.range.lowerBound) + [text.endIndex]
        programs = Set(starts.filter { $0.output.1 == "executableTarget" }.map { String($0.output.2) })
        var dependencies: [String: Set<String>] = [:]
        for (start, end) in zip(starts, ends) {
            let words = text[start.range.upperBound..<end].matches(of: /"([^"]+)"/).map {
                String($0.output.1)
            }
            dependencies[String(start.output.2)] = names.intersection(words)
        }
        self.dependencies = dependencies
    }

    /// A target and everything that it depends on, directly or not.
    func closure(of target: String) -> Set<String> {
        var reached: Set<String> = []
        var waiting = [target]
        while let next = waiting.popLast() {
            if reached.insert(next).inserted { waiting += dependencies[next] ?? [] }
        }
        return reached
    }
}
