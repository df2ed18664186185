import BusCluster
import BusSystem

/// Which member the log is read through, where the configuration names some: tries one after the other while the log is read
/// from etcd, and keeps to the one that delivers.
final class RelayedReading {
    /// What has come of it.
    enum Event {
        case part(RelayedPart)
        /// The one that delivered does not any more.
        case lost(OrderedLogFailure)
        /// One has failed twice since it was tried first, or since it delivered last.
        case fails(OrderedLogFailure)
    }

    private let relays: [Relay]
    private let wake: @Sendable () -> Void
    private var current = 0
    private var failures = 0
    /// How often each has failed since it delivered last. The first time, most have nothing yet of what is asked for.
    private var attempts: [Int: Int] = [:]
    private var nextAttempt = 0
    private var reader: RelayReader?
    /// Where the part begins that is on its way.
    private var asked: Int?
    /// Of which reading of the relay the first part was.
    private var reading: Int?

    /// In milliseconds, between attempts: the first wait, doubled up to the last.
    private static let waits = (first: 1000, last: 30_000)

    init(_ relays: [Relay], wake: @escaping @Sendable () -> Void) {
        self.relays = relays
        self.wake = wake
    }

    /// Whether what is read comes from a relay.
    var delivers: Bool { reading != nil }
    /// Whether it waits for the owner's room.
    var isPaused: Bool { delivers && asked == nil }
    var address: String { relays[current].address }

    /// When there is something to do though nothing comes; nil: never.
    var deadline: Int? { relays.isEmpty || reader != nil ? nil : nextAttempt }

    /// Takes the next step.
    ///
    /// - Parameters:
    ///   - place: Up to here the log is read.
    ///   - hasRoom: Whether another part can be taken in.
    func step(_ now: Int, behind place: Int, of cluster: String, hasRoom: Bool) -> Event? {
        guard !relays.isEmpty else { return nil }
        if reader == nil {
            guard now >= nextAttempt else { return nil }
            reader = RelayReader(relays[current], wake: wake)
        }
        switch reader?.take() {
        case .success(let part)?:
            let behind = asked ?? place
            asked = nil
            guard part.cluster == cluster, part.reading == reading ?? part.reading, part.place >= behind
            else {
                return fail(
                    OrderedLogFailure(
                        .unexpected,
                        "\(address) reads another log, or has started over; it will be asked again."))
            }
            // One that brings nothing may be blind: it takes nobody's place. One that is left at once is asked less and less.
            guard delivers || part.place > behind else { break }
            if delivers { failures = 0 }
            attempts[current] = nil
            reading = part.reading
            return .part(part)
        case .failure(let failure)?: return fail(failure)
        case nil: break
        }
        if asked == nil, hasRoom {
            asked = place
            reader?.ask(behind: place)
        }
        return nil
    }

    /// Gives this relay up for a while, and tries the next one.
    @discardableResult
    func fail(_ failure: OrderedLogFailure) -> Event? {
        let delivered = delivers
        end()
        // Two that name each other must not go on in step.
        let wait = min(Self.waits.first << min(failures, 16), Self.waits.last)
        nextAttempt = MonotonicClock.milliseconds + wait + .random(in: 0...wait / 2)
        failures += 1
        attempts[current, default: 0] += 1
        let isNews = attempts[current] == 2
        current = (current + 1) % relays.count
        return delivered ? .lost(failure) : isNews ? .fails(failure) : nil
    }

    /// Reads through nobody, until the next step.
    func end() {
        reader?.end()
        reader = nil
        (asked, reading) = (nil, nil)
    }
}
