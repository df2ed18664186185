import FluxBusTesting
import Foundation
import TestFiles
import Testing

struct Door: SharedState, Equatable {
    private(set) var isOpen = false
    private(set) var rings = 0

    enum Action: Codable, Sendable { case open, ring }

    static let actions = ActionList<Door>(.open, .ring)

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Door) {
            switch action {
            case .open: state.isOpen = true
            case .ring: state.rings &+= 1
            }
        }
    }
}

/// A program as in the article.
private struct Program {
    let door: RemoteStore<Door>
    private let notices: AsyncStream<BusNotice>

    init(connectingTo address: BusAddress) async throws {
        let bus = try await Bus.connect(address)
        notices = bus.notices
        door = try await bus.store("front", of: Door.self)
    }

    func ring() async throws { try await door.dispatch(.ring) }

    /// The status of the connection after each notice of it.
    var statuses: some AsyncSequence<BusStatus, Never> {
        let bus = door.bus
        return notices.map { _ in bus.status }
    }
}

/// The code of the article "Testing on a bus".
@Suite(.timeLimit(.minutes(10))) struct ArticleTests {
    @Test func programsAreTestedOnABus() async throws {
        let test = try TestBus(serving: Door.self, stores: ["door/front"])
        let door = try await test.connect().store("front", of: Door.self)
        try await door.dispatch(.open)

        let program = try await Program(connectingTo: test.address)
        try await program.ring()
        #expect(try await door.confirmed().state.rings == 1)

        for await isOpen in program.door.values(\.isOpen) where isOpen { break }

        await test.cut()
        try await program.ring()
        #expect(try await door.confirmed().state.rings == 2)

        await test.goOffline()
        async let late: Void = program.ring()
        for await status in program.statuses where status != .connected { break }
        test.goOnline()
        try await late
        #expect(try await door.confirmed().state.rings == 3)
    }

    @Test func declaredTypesAreServed() async throws {
        let declared = try TestBus(
            definitions: [
                """
                type: bell
                initial: { rings: 0 }
                actions: { ring: { increment: { rings: 1 } } }
                """
            ],
            folder: "../../../config/types", stores: ["bell/door"])
        let bus = try await declared.connect()
        try await bus.dispatch("ring", to: .store("bell/door"))
        #expect(try await bus.state(of: "bell/door").state == ["rings": 1])
    }

    @Test func logsSurviveRestarts() async throws {
        let durable = try TestBus(serving: Door.self, stores: ["door/front"], hasLog: true)
        let front = try await durable.connect().store("front", of: Door.self)
        try await front.dispatch(.ring)
        try await durable.restart()
        #expect(try await front.confirmed().state.rings == 1)
    }

    /// Every block of Swift in the article stands, line by line, in this file.
    @Test func codeOfTheArticleIsCompiled() throws {
        let page = try MarkdownPage("Sources/Client/FluxBusTesting/FluxBusTesting.docc/TestingOnABus.md")
        #expect(page.blocks("swift").count > 5)
        #expect(try page.swiftBlocks(missingIn: "\(#filePath)") == [])
    }
}
