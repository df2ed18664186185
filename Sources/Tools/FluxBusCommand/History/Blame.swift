import BusJSON
import FluxBus

/// Finds which commit last changed parts of one store's state.
///
/// The log is read backwards in windows that double; what changed within a window is found from the states after each
/// of its commits, read forwards, because a bus replays forwards from a state that it keeps. So a value that changed
/// lately is found quickly, and for a value that was removed and restored the commit that restored it is found.
struct Blame {
    /// The result for one part.
    struct Finding {
        let path: JSONPointer
        /// The part now; nil where there is none.
        let value: JSON?
        /// The commit that changed it last; nil when that is older than the log.
        var commit: JSON?
        /// The part before that commit; nil where there was none.
        var old: JSON?
    }

    private let session: CommandSession
    private let connection: BusConnection
    private let store: String
    private let reader: HistoryReader
    /// The revision after which the log was searched, once the search is done.
    private(set) var floor = 0

    private static let firstWindow = 256

    init(_ session: CommandSession, _ connection: BusConnection, store: String) {
        self.session = session
        self.connection = connection
        self.store = store
        reader = HistoryReader(session, connection, target: store)
    }

    /// Searches for the part at `path`, or for each top-level member, as they are at `revision`. Throws
    /// `unknown_store` when there is no such store then.
    mutating func findings(for path: JSONPointer?, at revision: Int) throws -> [Finding] {
        let request = read(at: revision, select: path)
        let reply = try session.ask(request, on: connection)
        let state = reply["states"]?[store] ?? [:]
        let paths = path.map { [$0] } ?? (state.object ?? [:]).keys.map { JSONPointer(tokens: [$0]) }
        var findings = paths.map { Finding(path: $0, value: $0.resolve(in: state)) }
        var windows = HistoryWindows(endingWith: revision, width: Self.firstWindow)
        while findings.contains(where: { $0.commit == nil }), let window = windows.next {
            var commits: [JSON] = []
            do {
                try reader.forEach(after: window.lowerBound, through: window.upperBound) {
                    commits.append($0)
                    return true
                }
            } catch let error as BusError {
                guard let oldest = HistoryReader.oldest(in: error), windows.raise(to: oldest) else {
                    throw error
                }
                continue
            }
            try search(commits, after: window.lowerBound, select: path, for: &findings)
            windows.turn()
        }
        floor = windows.floor
        return findings
    }

    /// Compares the state before the commits and after each, and records for every open finding
    /// the last one that changed it.
    private func search(
        _ commits: [JSON], after start: Int, select path: JSONPointer?, for findings: inout [Finding]
    ) throws {
        guard !commits.isEmpty else { return }
        let open = findings.indices.filter { findings[$0].commit == nil }
        let search = Search(open.map { findings[$0].path })
        let pipeline = RequestPipeline(session, connection, window: 64)
        // Before the first commit there is no state to read.
        if start > 0 {
            try pipeline.send(read(at: start, select: path)) { try search.begin(with: self.state(in: $0)) }
        }
        for commit in commits {
            guard let revision = commit["revision"]?.int else { continue }
            try pipeline.send(read(at: revision, select: path)) {
                try search.look(at: self.state(in: $0), after: commit)
            }
        }
        try pipeline.finish()
        for (place, index) in open.enumerated() {
            findings[index].commit = search.last[place]?.commit
            findings[index].old = search.last[place]?.old
        }
    }

    private func read(at revision: Int, select path: JSONPointer?) -> BusRequest {
        BusRequest(
            "get",
            [
                "store": .string(store), "revision": .int(revision),
                "select": path.map { $0.tokens.isEmpty ? nil : [.string($0.description)] } ?? nil,
            ])
    }

    /// The store's state in a reply; nil when there was no such store, or no such type, at that time.
    private func state(in reply: Result<JSONObject, BusError>) throws -> JSON? {
        switch reply {
        case .success(let members): return members["states"]?[store]
        case .failure(let error) where [.unknownStore, .unknownType].contains(error.code): return nil
        case .failure(let error): throw error
        }
    }

    /// The walk over one window.
    private final class Search {
        private let paths: [JSONPointer]
        private var values: [JSON?]
        /// For each path the last change so far.
        private(set) var last: [(commit: JSON, old: JSON?)?]

        init(_ paths: [JSONPointer]) {
            self.paths = paths
            values = paths.map { _ in nil }
            last = paths.map { _ in nil }
        }

        func begin(with state: JSON?) {
            for (place, path) in paths.enumerated() { values[place] = state.flatMap(path.resolve) }
        }

        func look(at state: JSON?, after commit: JSON) {
            for (place, path) in paths.enumerated() {
                let value = state.flatMap(path.resolve)
                if value != values[place] { last[place] = (commit, values[place]) }
                values[place] = value
            }
        }
    }
}
