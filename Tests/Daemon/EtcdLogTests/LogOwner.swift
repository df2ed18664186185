import BusCluster
import Dispatch
import EtcdLog
import TestEtcd
import Testing

/// The owner of one log in a test: takes its events, keeps the entries, and waits for what a test expects.
final class LogOwner {
    struct Silence: Error, CustomStringConvertible {
        let description: String
    }

    let log: EtcdLog
    private let bell = DispatchSemaphore(value: 0)
    private var events: [OrderedLogEvent] = []
    private(set) var entries: [OrderedEntry] = []
    private(set) var incarnation = 0
    private var name = ""
    private var lastNumber = 0
    private var lastBarrier = 0

    init(
        _ etcd: TestEtcd, bus: String, endpoints: [String]? = nil,
        _ change: (inout EtcdSettings) -> Void = { _ in }
    ) throws {
        var settings = EtcdSettings(endpoints: endpoints ?? etcd.endpoints, bus: bus)
        change(&settings)
        log = try EtcdLog(settings, bell: { [bell] in bell.signal() })
    }

    deinit { log.close() }

    // MARK: - Waiting

    /// Takes events until one is what the test looks for; entries are kept, and other events for later.
    @discardableResult
    func wait<Found>(
        _ what: String, seconds: Int = 60, _ find: (OrderedLogEvent) -> Found?
    ) throws -> Found {
        for (index, event) in events.enumerated() {
            if let found = find(event) {
                events.remove(at: index)
                return found
            }
        }
        let deadline = DispatchTime.now() + .seconds(seconds)
        while true {
            let news = log.take()
            var found: Found?
            for event in news {
                if case .entry(let entry) = event { entries.append(entry) }
                if found == nil, let match = find(event) { found = match } else { events.append(event) }
            }
            events.removeAll { if case .entry = $0 { true } else { false } }
            if let found { return found }
            if news.isEmpty, bell.wait(timeout: deadline) == .timedOut {
                throw Silence(description: "There is no \(what); there are \(events), behind \(entries).")
            }
        }
    }

    func waitAttached() throws -> String {
        try wait("attached") { if case .attached(let cluster) = $0 { cluster } else { nil } }
    }

    func waitDetached() throws -> OrderedLogFailure {
        try wait("detached") { if case .detached(let failure) = $0 { failure } else { nil } }
    }

    func waitEnded(_ member: String) throws -> Int {
        func place(_ entry: OrderedEntry) -> Int? {
            if case .ended(let members) = entry.content, members.contains(member) { entry.place } else { nil }
        }
        if let found = entries.lazy.compactMap(place).first { return found }
        return try wait("end of \(member)") { if case .entry(let entry) = $0 { place(entry) } else { nil } }
    }

    /// Waits until so many proposals have been delivered; those that came before what was waited for last count, too.
    func waitForProposals(_ count: Int) throws {
        while entries.proposals.count < count {
            try wait("proposal") { event -> Bool? in
                if case .entry(let entry) = event, case .proposal = entry.content { true } else { nil }
            }
        }
    }

    // MARK: - Calls, with what comes of them

    @discardableResult
    func join(_ name: String, report: [UInt8] = []) throws -> Int {
        log.join(as: name, report: report)
        self.name = name
        lastNumber = 0
        incarnation = try wait("joined") { if case .joined(let place) = $0 { place } else { nil } }
        return incarnation
    }

    func propose(_ number: Int, _ content: [UInt8], incarnation: Int? = nil) throws -> ProposalOutcome {
        let name = ProposalName(
            member: name, incarnation: incarnation ?? self.incarnation, number: number)
        log.propose(name, content)
        return try wait("outcome of \(number)") {
            if case .proposed(name, let outcome) = $0 { outcome } else { nil }
        }
    }

    /// The next proposal, again and again until it is known to be in the log; its place.
    @discardableResult
    func proposeNext(_ content: [UInt8]) throws -> Int {
        lastNumber += 1
        var last: ProposalOutcome?
        for _ in 0..<60 {
            let outcome = try propose(lastNumber, content)
            last = outcome
            switch outcome {
            case .acknowledged(let place), .alreadyThere(let place): return place
            case .refused: throw Silence(description: "Proposal \(lastNumber) is refused.")
            case .notProposed:
                // Nothing more can be done before the log is there again.
                _ = try? wait("attached", seconds: 1) { if case .attached = $0 { true } else { nil } }
            case .unknown: break
            }
        }
        throw Silence(description: "Proposal \(lastNumber) does not come in: \(String(describing: last)).")
    }

    /// Takes everything that is in the log by now.
    func catchUp(attempts: Int = 60) throws {
        lastBarrier += 1
        let number = lastBarrier
        log.barrier(number)
        let failure: OrderedLogFailure? = try wait("barrier") {
            switch $0 {
            case .barrier(number): .some(nil)
            case .barrierFailed(number, let failure): .some(failure)
            default: nil
            }
        }
        if let failure {
            guard attempts > 1 else { throw Silence(description: "There is no barrier: \(failure).") }
            _ = try? wait("attached", seconds: 1) { if case .attached = $0 { true } else { nil } }
            try catchUp(attempts: attempts - 1)
        }
    }

    func read(behind place: Int = 0, of cluster: String? = nil) {
        entries = []
        log.read(behind: place, of: cluster)
    }
}

extension [OrderedEntry] {
    /// The contents of proposals, in order.
    var proposals: [[UInt8]] {
        compactMap { if case .proposal(_, let content) = $0.content { content } else { nil } }
    }
}

/// One server for all tests that leave its history alone; each has a bus of its own.
enum SharedEtcd {
    static let etcd = Result { try TestEtcd() }
}
