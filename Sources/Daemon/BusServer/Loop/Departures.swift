import BusEngine
import BusMachine

/// The processes whose sessions wait for them to come back, each watched until it has ended.
struct Departures: ~Copyable {
    /// Set in the tokens under which the poller knows them.
    static let tokenMark: UInt64 = 1 << 61

    private final class Watch {
        let session: SessionID
        let process: ClientProcess.Descriptor

        init(_ session: SessionID, _ process: consuming ClientProcess.Descriptor) {
            self.session = session
            self.process = process
        }
    }

    private var watches: [UInt64: Watch] = [:]
    private var lastToken = tokenMark
    /// With so many it is time to look which sessions wait no more.
    private var many = 64

    /// Watches the process that left this session. Those of sessions that wait no more are let go of now and then.
    mutating func watch(
        _ process: consuming ClientProcess.Descriptor, of session: SessionID, _ poller: borrowing Poller,
        _ calls: inout SystemCallCount, stillWaits: (SessionID) -> Bool
    ) {
        if watches.count >= many {
            watches = watches.filter { stillWaits($0.value.session) }
            many = max(64, 2 * watches.count)
        }
        lastToken += 1
        let watch = Watch(session, process)
        // If the poller has no room for it, the session waits as long as it says.
        guard (try? poller.add(watch.process.number, .input, token: lastToken, &calls)) != nil else { return }
        watches[lastToken] = watch
    }

    /// The session whose process has ended. A descriptor that is closed is not polled any more.
    mutating func take(_ token: UInt64) -> SessionID? { watches.removeValue(forKey: token)?.session }
}
