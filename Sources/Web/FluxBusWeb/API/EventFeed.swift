import BusJSON
import FluxBus
import FlyingSocks

/// Changes or actions as server-sent events. Each has an id, by which a client that comes back goes on behind it; while the bus
/// is away, the feed waits for it and then goes on by itself.
///
/// Whoever does not read stops the bus's output for it, as over WebSocket.
final class EventFeed: Talk {
    private typealias Frames = Outlet<[UInt8], Never>

    /// How long the bus may take to accept a connection, and then to grant what is subscribed to.
    static let patience: Duration = .seconds(5)
    /// How long nothing may pass before something does, so that nobody between takes it for dead.
    private static let silence: Duration = .seconds(15)
    /// How long it waits between two attempts to reach the bus.
    private static let pause: Duration = .milliseconds(500)
    /// What no bus sends as one line.
    private static let longestLine = 64 << 20

    private let outlet = Frames()
    private let caller: Caller
    private let work: Task<Void, Never>
    private let whenOver: @Sendable () -> Void

    /// - Parameters:
    ///   - first: What is answered already; nil: the bus is away.
    ///   - whenOver: Called once nobody holds it any more.
    init(
        _ source: Source, _ first: Subscription?, whenOver: @escaping @Sendable () -> Void
    ) {
        (caller, self.whenOver) = (source.caller, whenOver)
        work = Task { [outlet] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await Self.run(source, first, outlet) }
                group.addTask { await Self.breathe(outlet) }
                await group.next()
                group.cancelAll()
            }
        }
    }

    deinit {
        work.cancel()
        outlet.end(nil)
        whenOver()
    }

    func end() { outlet.end(nil) }

    func endIfSignedOut() {
        if !caller.isSignedIn() { outlet.end(nil) }
    }

    // MARK: - What it comes from

    /// What is subscribed to, by whom.
    struct Source: Sendable {
        let bus: BusAccess
        let caller: Caller
        let request: BusRequest
        /// What its client had before.
        let place: EventPlace?
        let pool: any AsyncSocketPool
        let patience: Duration

        /// Subscribes, from a place on if there is one. Throws the bus's refusal.
        func subscribe(from place: EventPlace?) async throws(BusError) -> Subscription {
            let link = try await BusLink.open(bus, for: caller, pool, within: patience)
            var request = request
            if let place {
                request.set("since", .int(place.since))
                request.set("epoch", .string(place.epoch))
            }
            do {
                return try await withThrowingTaskGroup(of: Subscription.self) { [request, patience] group in
                    group.addTask { try await Self.send(request, over: link) }
                    group.addTask {
                        try await ContinuousClock().sleep(for: patience)
                        throw BusError(.timedOut, "The bus did not answer in the time allowed.")
                    }
                    defer { group.cancelAll() }
                    guard let first = try await group.next() else { throw CancellationError() }
                    return first
                }
            } catch let error as BusError {
                throw error
            } catch {
                throw BusError(.closed, "The connection to the bus was lost.")
            }
        }

        private static func send(_ request: BusRequest, over link: BusLink) async throws -> Subscription {
            let writer = ByteWriter()
            request.write(to: writer)
            try await link.write(Array(writer.bytes))
            var lines = LineBuffer()
            while true {
                while let line = lines.next() {
                    guard case .reply(let reply) = try BusMessage(parsing: line) else { continue }
                    guard reply["ok"] == true else { throw BusError(reply: reply["error"]) }
                    let start = EventPlace(
                        epoch: reply["epoch"]?.string ?? "", revision: reply["revision"]?.int ?? 0)
                    return Subscription(link: link, lines: lines, start: start)
                }
                guard let bytes = try await link.read() else {
                    throw BusError(.closed, "The bus ended the connection.")
                }
                bytes.withUnsafeBytes { lines.append($0) }
            }
        }
    }

    /// One that the bus has granted, with what has come of it.
    struct Subscription: Sendable {
        let link: BusLink
        var lines: LineBuffer
        /// Where the bus was when it granted it.
        let start: EventPlace
    }

    // MARK: - What it says

    private static func breathe(_ outlet: Frames) async {
        while (try? await ContinuousClock().sleep(for: silence)) != nil {
            outlet.giveFirst(Array(":\n\n".utf8))
        }
    }

    private static func run(_ source: Source, _ first: Subscription?, _ outlet: Frames) async {
        guard await outlet.give([Array("retry: 1000\n\n".utf8)]) else { return }
        var subscription = first
        var place = source.place
        while !Task.isCancelled {
            do throws(BusError) {
                var next: Subscription
                if let subscription {
                    next = subscription
                } else {
                    next = try await source.subscribe(from: place)
                }
                subscription = nil
                guard try await relay(&next, source, &place, outlet) else { return outlet.end(nil) }
            } catch {
                guard error.isPassing else {
                    var refusal = error.details
                    refusal["code"] = .string(error.code.rawValue)
                    refusal["message"] = .string(error.message)
                    _ = await outlet.give([frame("error", nil, JSON.object(refusal).encoded)])
                    return outlet.end(nil)
                }
                guard (try? await ContinuousClock().sleep(for: pause)) != nil else { return }
            }
        }
    }

    /// Passes on what comes, until the bus goes away; false: the client is gone, or signed out.
    private static func relay(
        _ subscription: inout Subscription, _ source: Source, _ place: inout EventPlace?, _ outlet: Frames
    ) async throws(BusError) -> Bool {
        let after = place
        // Such a feed has no initial states. Its client needs an id even if it disconnects before the first event.
        if place == nil, source.request["actions"] == true || source.request["initial"] == false {
            place = subscription.start
            guard await outlet.give([frame("bookmark", place, "")]) else { return false }
        }
        var epoch = subscription.start.epoch
        while true {
            var frames: [[UInt8]] = []
            while let line = subscription.lines.next() {
                guard case .event(let name, let event) = try BusMessage(parsing: line) else { continue }
                if name == "goodbye" { continue }
                epoch = event["epoch"]?.string ?? epoch
                let here = EventPlace(
                    epoch: epoch, revision: event["revision"]?.int ?? 0,
                    index: name == "action" ? event["index"]?.int ?? 0 : nil)
                if let after, here.isTold(before: after) { continue }
                let isWhole = event["more"] == nil
                if isWhole { place = here }
                let kind = event["reset"] == true ? "reset" : name
                frames.append(frame(kind, isWhole ? here : nil, String(decoding: line, as: UTF8.self)))
            }
            guard source.caller.isSignedIn() else { return false }
            if !frames.isEmpty {
                guard await outlet.give(frames) else { return false }
            }
            guard let bytes = try? await subscription.link.read() else { return !Task.isCancelled }
            bytes.withUnsafeBytes { subscription.lines.append($0) }
            guard subscription.lines.count <= longestLine else { return false }
        }
    }

    /// A bookmark has no data: a client notes its id and is told nothing.
    private static func frame(_ name: String, _ place: EventPlace?, _ data: String) -> [UInt8] {
        var text = ""
        if name != "bookmark" { text += "event: \(name)\ndata: \(data)\n" }
        if let place { text += "id: \(place.text)\n" }
        return Array((text + "\n").utf8)
    }
}

/// The feed as the body of an answer.
extension EventFeed: AsyncBufferedSequence {
    typealias Element = UInt8

    struct Iterator: AsyncBufferedIteratorProtocol {
        let feed: EventFeed

        mutating func next() async throws -> UInt8? { preconditionFailure("It is read in pieces.") }

        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            guard case .frame(let bytes) = await feed.outlet.next() else { return nil }
            return bytes
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(feed: self) }
}

/// The place of an event in the order of all, which is its id: `EPOCH:REVISION`, and of an action `EPOCH:REVISION:INDEX`,
/// because one commit may have several.
package struct EventPlace: Equatable, Sendable {
    package let epoch: String
    package let revision: Int
    package let index: Int?

    package init(epoch: String, revision: Int, index: Int? = nil) {
        (self.epoch, self.revision, self.index) = (epoch, revision, index)
    }

    /// Nil if the text is no id.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, !parts[0].isEmpty, let revision = Int(parts[1]),
            revision >= 0
        else { return nil }
        var index: Int?
        if parts.count == 3 {
            guard let number = Int(parts[2]), number >= 0 else { return nil }
            index = number
        }
        self.init(epoch: String(parts[0]), revision: revision, index: index)
    }

    package var text: String { "\(epoch):\(revision)" + (index.map { ":\($0)" } ?? "") }

    /// Behind which revision a subscription begins. The commit of an action is told again, and what was told of it left out.
    package var since: Int { index == nil ? revision : revision - 1 }

    /// Whether an action was told to a client that had this one.
    func isTold(before place: EventPlace) -> Bool {
        guard let index, let told = place.index else { return false }
        return epoch == place.epoch && revision == place.revision && index <= told
    }
}

extension BusError {
    /// Whether it may be otherwise in a moment.
    fileprivate var isPassing: Bool {
        [.unreachable, .closed, .timedOut, .unavailable, .limit].contains(code)
    }
}
