import BusEngine
import BusJSON

/// Answers what the engine asks of the log. It keeps the last engine of the past that it made, because whoever looks at one
/// revision mostly looks at the next.
package final class PastAnswers<Source: PastSource> {
    private let source: Source
    private let replayer: Replayer
    private let limits: Limits
    private var shadow: Engine?

    /// How much of the log one answer for a subscription holds, in bytes.
    private static var entriesAtOnce: Int { 256 << 10 }

    package init(_ source: Source, _ replayer: Replayer, limits: Limits) {
        self.source = source
        self.replayer = replayer
        self.limits = limits
    }

    /// Lets go of the engine that was kept: it takes as much memory as the bus did then.
    package func forget() { shadow = nil }

    package func answer(_ question: LogQuestion) -> LogAnswer {
        do throws(PastFailure) {
            switch question.subject {
            case .history(let since, let until, let limit, let type, let store):
                return try history(
                    since: since, until: until, limit: limit, HistoryFilter(type: type, store: store),
                    room: question.room)
            case .past(let revision, let request):
                return try past(revision, request, room: question.room)
            case .state(let revision, let store):
                return try state(revision, store)
            case .entries(let after):
                return try entries(after: after)
            }
        } catch {
            return refusal(error)
        }
    }

    private func refusal(_ failure: PastFailure) -> LogAnswer {
        switch failure.kind {
        case .gone: break
        case .tooLarge: return .refused(code: "too_large", message: failure.message, details: [:])
        case .damaged, .unreadable, .abandoned:
            return .refused(code: "unavailable", message: failure.message, details: [:])
        }
        let oldest = (try? source.snapshots().first) ?? nil
        return .refused(
            code: "conflict", message: failure.message,
            details: oldest.map { ["oldest": .int($0)] } ?? [:])
    }

    private func oldest() throws(PastFailure) -> Int {
        guard let oldest = try source.snapshots().first else {
            throw PastFailure(.gone, "The log holds no snapshot, so there is no past to tell.")
        }
        return oldest
    }

    // MARK: - Commits

    private func history(
        since: Int?, until: Int, limit: Int, _ filter: HistoryFilter, room: Int
    ) throws(PastFailure) -> LogAnswer {
        let oldest = try oldest()
        if let since, since < oldest {
            throw PastFailure(
                .gone, "The log goes back to revision \(oldest) only; ask for what came after it.")
        }
        let page = HistoryPage(after: since ?? oldest, until: until, limit: limit, room: room - 128)
        if page.last < until {
            try source.forEachGroup(after: page.last) { (group) throws(PastFailure) in
                try page.add(group, filter)
                return !page.isFull && group.last < until
            }
        }
        return .members(page.members(oldest: oldest))
    }

    private func entries(after: Int) throws(PastFailure) -> LogAnswer {
        let oldest = try oldest()
        if after < oldest { return .gap(oldest: oldest) }
        var bytes: [UInt8] = []
        var through = after
        try source.forEachGroup(after: after) { (group) throws(PastFailure) in
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "\n")) }
            bytes.append(contentsOf: group.entries)
            through = max(through, group.last)
            return bytes.count < Self.entriesAtOnce
        }
        return .entries(bytes, through: through)
    }

    // MARK: - States

    /// The bus at a revision.
    private func engine(at revision: Int) throws(PastFailure) -> Engine {
        if let shadow, shadow.revision <= revision,
            try source.snapshots().last(where: { $0 <= revision }) ?? 0 <= shadow.revision
        {
            do throws(PastFailure) {
                try replayer.carryOn(shadow, to: revision, from: source)
            } catch {
                self.shadow = nil
                throw error
            }
            if shadow.revision == revision { return shadow }
        }
        shadow = nil
        let made = try replayer.engine(at: revision, from: source)
        shadow = made
        return made
    }

    /// What the bus would have answered then.
    private func past(_ revision: Int, _ request: [UInt8], room: Int) throws(PastFailure) -> LogAnswer {
        let engine = try engine(at: revision)
        let id = engine.connect(.unix(uid: 0, pid: 0))
        defer { engine.disconnect(id) }
        (request + [UInt8(ascii: "\n")]).withUnsafeBytes { engine.receive(id, $0) }
        engine.serveAll()
        let reply = engine.takeOutput(of: id)
        guard let object = (try? JSON(parsing: reply, depthLimit: 1000))?.object, let ok = object["ok"]?.bool
        else {
            throw PastFailure(.unreadable, "Revision \(revision) gave no answer; report this.")
        }
        guard ok else {
            var details = object["error"]?.object ?? [:]
            let (code, message) = (details["code"]?.string ?? "", details["message"]?.string ?? "")
            details["code"] = nil
            details["message"] = nil
            return .refused(code: code, message: message, details: details)
        }
        guard reply.count <= room else {
            return .refused(
                code: "too_large",
                message:
                    "The reply would be longer than a line of \(limits.line) bytes; ask for less with limit, "
                    + "select or store.", details: [:])
        }
        let opening = "{\"ok\":true".utf8.count
        return .members(Array(reply[opening...].dropLast(2)))
    }

    private func state(_ revision: Int, _ store: String) throws(PastFailure) -> LogAnswer {
        guard let state = try engine(at: revision).state(at: store) else {
            return .refused(
                code: "unknown_store",
                message:
                    "There was no store \(store) at revision \(revision); look for a revision in its history.",
                details: [:])
        }
        return .state(state)
    }
}

extension Engine {
    /// All that waits to be sent on a connection, taken away.
    func takeOutput(of id: ConnectionID) -> [UInt8] {
        var bytes: [UInt8] = []
        withUnsafeTemporaryAllocation(of: OutputPiece.self, capacity: 64) { pieces in
            while true {
                let count = output(of: id, into: pieces)
                if count == 0 { return }
                var length = 0
                for piece in pieces[..<count] {
                    bytes.append(contentsOf: UnsafeRawBufferPointer(start: piece.base, count: piece.count))
                    length += piece.count
                }
                sent(id, length)
            }
        }
        return bytes
    }
}
