import Flux
import FluxTesting
import Foundation
import TestFiles
import Testing

/// Recordings as fixtures.
@Suite struct RecordingTests {
    private let path = "Fixtures/shelf.json"

    @Test func fixtureIsReplayed() async throws {
        let recording = try Recording<Shelf>(fixture: path)
        let test = TestStore<Shelf>(state: Shelf())
        try await test.replay(recording) {
            $0.items = ["tea", "milk"]
            $0.count = 3
            $0.labels = ["tea": .init(text: "Tea", size: 2)]
        }
        // The test goes on from there.
        try await test.dispatch(.add("salt")) {
            $0.items.append("salt")
            $0.count = 4
        }
        try await test.finish()
    }

    @Test func otherStateThanExpectedFails() async throws {
        let test = TestStore<Shelf>(state: Shelf())
        let message = try await failure {
            try await test.replay(Recording(fixture: path)) {
                $0.items = ["tea"]
                $0.count = 3
            }
        }
        #expect(
            message == """
                The replay did not change the state as expected:
                    items[1]: expected nothing, got "milk"
                    labels["tea"]: expected nothing, got Label(text: "Tea", size: 2)
                """)
    }

    @Test func runIsComparedWithAFixture() async throws {
        let recording = try Recording<Shelf>(fixture: path)
        let test = TestStore<Shelf>(state: Shelf(count: 1))
        test.store.dispatch(.add("tea"))
        await test.clock.advance(by: .seconds(5))
        test.store.dispatch(atomically: [.label("tea", .init(text: "Tea", size: 2)), .add("milk")])
        try test.expect(recording)
        test.store.dispatch(.touch)
        let longer = try await failure { try test.expect(recording) }
        #expect(
            longer == """
                What was committed is not what the recording holds:
                    steps[2]: expected nothing, got [touch]
                """)
        let other = TestStore<Shelf>(state: Shelf())
        other.store.dispatch(.add("coffee"))
        let different = try await failure { try other.expect(recording) }
        #expect(different?.contains("start.count: expected 1, got 0") == true)
        #expect(different?.contains("steps[0][0].add: expected \"tea\", got \"coffee\"") == true)
    }

    @Test func whatIsWrittenIsRead() async throws {
        let directory = TemporaryDirectory()
        let file = "\(directory.path)/folder/run.json"
        let test = TestStore<Shelf>(state: Shelf(count: 1))
        test.store.dispatch(.add("tea"))
        await test.clock.advance(by: .seconds(5))
        test.store.dispatch(atomically: [.label("tea", .init(text: "Tea", size: 2)), .add("milk")])
        try test.recording.write(fixture: file)
        try test.expect(Recording(fixture: file))
        // The fixture here was written that way.
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let committed = try String(contentsOf: here.appendingPathComponent(path), encoding: .utf8)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == committed)
    }

    @Test func fixtureThatCannotBeReadFails() async throws {
        let absent = try await failure { _ = try Recording<Shelf>(fixture: "Fixtures/none.json") }
        #expect(absent?.hasSuffix("/FluxTestingTests/Fixtures/none.json can't be read.") == true)
        let directory = TemporaryDirectory()
        let file = try directory.write("wrong.json", #"{ "steps": 1 }"#)
        let wrong = try await failure { _ = try Recording<Shelf>(fixture: file) }
        #expect(wrong?.hasPrefix("The fixture \(file) is not a recording of Shelf: ") == true)
    }

    @Test func recordingThatFailsIsReported() async throws {
        let test = TestStore<Shelf>(state: Shelf())
        let message = try await failure {
            try await test.replay(Recording(steps: [.init(actions: [.refuse])])) { _ in }
        }
        #expect(message == "The recording can't be replayed: \(Shelf.Refusal())")
    }
}
