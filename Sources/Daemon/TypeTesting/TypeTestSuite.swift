import BusDefinitions
import BusJSON
import BusLogic
import BusProtocol
import BusSource
import BusYAML

/// The tests of a directory of state types: those in the files of types, and those in files `*.test.yaml` beside them.
package struct TypeTestSuite: Sendable {
    /// In the order of their files and lines.
    package let tests: [TypeTest]
    private let types: [String: any StateType]

    /// Reads the tests of types, and of the files in their directory; adds what is wrong with them.
    ///
    /// - Parameter natives: The types that the bus has without a file.
    package init(
        _ catalog: TypeCatalog, in directory: String?, beside natives: [any StateType] = [],
        _ errors: inout [SourceError]
    ) {
        let all: [any StateType] = natives + catalog.types
        // Of a type whose file is wrong nothing more is said.
        let areAllKnown = errors.isEmpty
        let types = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
        var tests: [TypeTest] = []
        for type in catalog.types {
            guard let source = type.tests else { continue }
            tests += TypeTestReader(type: type, types: types).read(source, &errors)
        }
        do throws(SourceError) {
            for path in try directory.map(TypeCatalog.testFiles) ?? [] {
                do throws(SourceError) {
                    tests += try Self.tests(in: path, types, areAllKnown, &errors)
                } catch {
                    errors.append(error)
                }
            }
        } catch {
            // Whoever read the types of a directory that can't be read has said so.
            if !errors.contains(error) { errors.append(error) }
        }
        self.tests = tests.sorted {
            UTF8Order.equal($0.place.file, $1.place.file)
                ? $0.place.line < $1.place.line : UTF8Order.precedes($0.place.file, $1.place.file)
        }
        self.types = types
        errors = errors.inOrder
    }

    private static func tests(
        in path: String, _ types: [String: any StateType], _ areAllKnown: Bool, _ errors: inout [SourceError]
    ) throws(SourceError) -> [TypeTest] {
        let file = try LocatedValue.read(FileReading.bytes(of: path), file: path).object("A file of tests")
        try file.refuseMembers(besides: ["type", "tests"], of: "a file of tests")
        let type = try file.required("type", of: "A file of tests")
        let name = try type.string("type")
        guard let known = types[name] else {
            guard areAllKnown else { return [] }
            throw type.failure(
                "There is no type \(name); \(suggestion(for: name, among: types.keys.sorted()))")
        }
        return TypeTestReader(type: known, types: types)
            .read(try file.required("tests", of: "A file of tests"), &errors)
    }

    /// Runs one test on a bus of its own, in memory. Gives what does not hold, each with its place; nothing if it passes.
    package func run(_ test: TypeTest) -> [SourceError] {
        var failures: [SourceError] = []
        do throws(SourceError) {
            var run = TypeTestRun(test, on: TrialBus(needed(by: test), at: test.time, uid: test.uid))
            try run.run(&failures)
        } catch {
            failures.append(error)
        }
        return failures
    }

    /// The types of a test's stores with those that they wait for, or are made of: all, where a dispatch goes to all.
    private func needed(by test: TypeTest) -> [any StateType] {
        var names = [test.type] + test.others.map { String($0.address.prefix { $0 != "/" }) }
        for step in test.steps {
            guard let target = (step.request?["store"] ?? step.request?["type"])?.string else { continue }
            names.append(
                contentsOf: target == "*" ? Array(types.keys) : [String(target.prefix { $0 != "/" })])
        }
        var found: [String: any StateType] = [:]
        while let name = names.popLast() {
            guard found[name] == nil, let type = types[name] else { continue }
            found[name] = type
            names += type.waitFor + ((type as? DeclaredType)?.view?.sources ?? [])
        }
        return found.values.sorted { UTF8Order.precedes($0.name, $1.name) }
    }
}
