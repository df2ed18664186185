import FluxBus
import TestServer
import Testing

/// Local stores that follow the bus. One suite, one test at a time: the attachment of a type is the process's.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AttachmentTests {
    /// The type `counter`, kept as the order in which its actions came.
    struct Trail: State, SharedState, Equatable {
        private(set) var amounts: [Int] = []
        enum Action: Codable, Sendable { case increment(by: Int = 1) }
        static let typeName = "counter"
        static let actions = ActionList<Trail>(.increment())
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Trail) {
                switch action {
                case .increment(let amount): state.amounts.append(amount)
                }
            }
        }
    }

    @Test func localStoresFollowTheOrderOfTheBus() async throws {
        let live = try LiveBus()
        let (bus, other) = (try await live.connect(), try await live.connect())
        let (first, second) = (Store<Trail>(state: Trail()), Store<Trail>(state: Trail()))
        let attachment = try await bus.attach(Trail.self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for amount in 1...100 { Store<Trail>.actions.dispatch(.increment(by: amount)) } }
            group.addTask {
                for amount in 101...200 {
                    _ = try? await other.dispatch(
                        "increment", to: .type("counter"), payload: ["by": .int(amount)])
                }
            }
        }
        for await amounts in first.values(\.amounts) where amounts.count == 200 { break }
        for await amounts in second.values(\.amounts) where amounts.count == 200 { break }
        #expect(first.state == second.state)
        #expect(first.state.amounts.filter { $0 <= 100 } == Array(1...100), "each sender's order is kept")
        #expect(first.state.amounts.filter { $0 > 100 } == Array(101...200))
        #expect(try await bus.state(of: "counter/main").state["count"] == .int(200 * 201 / 2))
        attachment.detach()
    }

    @Test func instanceActionsStayLocalAndSingleStoresOfTheBusTheirs() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let local = Store<Trail>(state: Trail())
        let attachment = try await bus.attach(Trail.self)
        local.actions.dispatch(.increment(by: 5))
        #expect(local.state.amounts == [5])
        try await bus.dispatch("increment", to: .store("counter/main"), payload: ["by": 7])
        Store<Trail>.actions.dispatch(.increment(by: 9))
        for await amounts in local.values(\.amounts) where amounts.contains(9) { break }
        #expect(local.state.amounts == [5, 9])
        #expect(try await bus.state(of: "counter/main").state["count"] == 16)
        attachment.detach()
        Store<Trail>.actions.dispatch(.increment(by: 1))
        #expect(local.state.amounts == [5, 9, 1], "detached, global actions are for this process again")
    }

    /// Which of the local stores it would be for, an expression says, and only the bus evaluates those.
    @Test func actionForSomeStoresIsAProblem() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let local = Store<Trail>(state: Trail())
        let attachment = try await bus.attach(Trail.self)
        var problems = attachment.problems.values.makeAsyncIterator()
        try await bus.dispatch("increment", to: .type("counter"), payload: ["by": 7], where: "count > 100")
        Store<Trail>.actions.dispatch(.increment(by: 9))
        for await amounts in local.values(\.amounts) where amounts.contains(9) { break }
        #expect(local.state.amounts == [9])
        guard case .unfit(_, let error)? = await problems.next() else {
            Issue.record("That local stores skip it was not told.")
            return
        }
        #expect(error.code == .invalidRequest)
        attachment.detach()
    }

    @Test func secondAttachmentIsRefused() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let attachment = try await bus.attach(Trail.self)
        let error = await #expect(throws: BusError.self) { _ = try await bus.attach(Trail.self) }
        #expect(error?.code == .exists)
        attachment.detach()
        try await bus.attach(Trail.self).detach()
    }

    @Test func problemsEndWithTheAttachment() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let attachment = try await bus.attach(Trail.self)
        let problems = attachment.problems.values
        attachment.detach()
        for await _ in problems {}
        attachment.detach()
    }

    @Test func refusedGlobalActionIsAProblem() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let attachment = try await bus.attach(Trail.self)
        var problems = attachment.problems.values.makeAsyncIterator()
        Store<Trail>.actions.dispatch(.increment(by: .max))
        Store<Trail>.actions.dispatch(.increment(by: .max))
        guard case .refused(_, let error)? = await problems.next() else {
            Issue.record("The overflow was not told.")
            return
        }
        #expect(error.code == .rejected)
        attachment.detach()
    }
}
