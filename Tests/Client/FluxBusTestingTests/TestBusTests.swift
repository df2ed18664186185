import FluxBusTesting
import Foundation
import TestFiles
import Testing

@Suite(.timeLimit(.minutes(10))) struct TestBusTests {
    private static let note = """
        type: note
        initial: { text: "" }
        actions:
          write:
            payload: { text: string }
            set: { text: { var: payload.text } }
        """

    @Test func swiftStatesAreServed() async throws {
        let test = try TestBus(serving: Counter.self, stores: ["counter/main"])
        let writer = try await test.connect().store("main", of: Counter.self)
        let reader = try await Bus.connect(test.address).store("main", of: Counter.self)
        try await writer.dispatch(.increment(by: 3))
        #expect(await reader.reaches(3))
    }

    @Test func definitionsAreServed() async throws {
        let test = try TestBus(serving: Counter.self, definitions: [Self.note], stores: ["note/door"])
        let bus = try await test.connect()
        try await bus.dispatch("write", to: .store("note/door"), payload: ["text": "hello"])
        #expect(try await bus.state(of: "note/door").state == ["text": "hello"])
        #expect(try await bus.create("counter/own").isNew)
    }

    @Test func definitionsOfAFolderAreServed() async throws {
        let test = try TestBus(
            definitions: [Self.note], folder: "../../../config/types", stores: ["note/door"])
        let bus = try await test.connect()
        let types = try await bus.types()
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appendingPathComponent("config/types").path)
        #expect(types.count == files.count + 1)
    }

    @Test func mistakesAreToldWithTheirPlace() throws {
        let wrong = Self.note.replacingOccurrences(of: "payload:", with: "paylod:")
        let error = #expect(throws: TestBusError.self) { try TestBus(definitions: [wrong]) }
        #expect(error?.description.contains("types/definition-1.yaml:5:") == true)
        let absent = #expect(throws: TestBusError.self) { try TestBus(stores: ["lamp/hall"]) }
        #expect(absent?.description.contains("There is no type lamp") == true)
    }

    @Test func accessRulesAreThoseOfAConfiguration() async throws {
        let test = try TestBus(
            definitions: [Self.note], stores: ["note/door"],
            configuration: """
                access:
                  roles:
                    admin: [{ unit: admin.service }]
                    reader: [everyone]
                  rules:
                    - { role: admin, may: all }
                    - { role: reader, may: read }
                """)
        let bus = try await test.connect()
        #expect(try await bus.state(of: "note/door").state == ["text": ""])
        let refused = await #expect(throws: BusError.self) {
            try await bus.dispatch("write", to: .store("note/door"), payload: ["text": "hello"])
        }
        #expect(refused?.code == .forbidden)
    }

    @Test func manyAreApart() async throws {
        try await withThrowingTaskGroup { group in
            for number in 1...8 {
                group.addTask {
                    let test = try TestBus(serving: Counter.self, stores: ["counter/main"])
                    let store = try await test.connect().store("main", of: Counter.self)
                    try await store.dispatch(.increment(by: number))
                    #expect(try await store.confirmed().state.count == number)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func nothingIsLeftOfOneThatIsLetGo() async throws {
        var test: TestBus? = try TestBus(serving: Counter.self, stores: ["counter/main"], hasLog: true)
        guard case .unix(let path) = try #require(test).address else { return }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let bus = try await test?.connect()
        #expect(FileManager.default.fileExists(atPath: path))
        test = nil
        #expect(!FileManager.default.fileExists(atPath: folder))
        await bus?.close()
    }
}
