internal import BusTime
import Synchronization

/// The state shared by all handles of one bus: the hand-over to its thread, and what is known of its connection.
///
/// Its locks are leaves: each guards one queue or one value, and none is held while other code runs.
final class BusCore: Sendable {
    /// In the order in which they are tried.
    let addresses: [BusAddress]
    /// Which of them is in use, or was last.
    let usedAddress = Atomic<Int>(0)
    let options: BusOptions
    let intake: Mutex<Intake>
    let transport: any Transport
    let state: Mutex<BusObservation>
    let revision = Atomic<Int>(0)
    let nextSubscription = Atomic<Int>(1)

    init(_ addresses: [BusAddress], options: BusOptions, transport: any Transport) {
        self.addresses = addresses
        self.options = options
        self.transport = transport
        intake = Mutex(Intake(options))
        state = Mutex(BusObservation())
    }

    var address: BusAddress { addresses[usedAddress.load(ordering: .relaxed)] }

    // MARK: - Handing over

    /// Where a request stands.
    enum Place {
        case admitted(wake: Bool)
        case inLine(Admission?, wake: Bool)
        case refused(BusError)
    }

    /// Submits a request to the thread, waiting for room if there is none. A task that is cancelled already submits nothing.
    nonisolated(nonsending) func submit(_ submission: Submission) async {
        if Task.isCancelled { return submission.settle(.failure(Self.cancelled)) }
        await settle(submission, enter(submission))
    }

    /// Gives a request its place in the order; ``settle(_:_:)`` follows.
    func enter(_ submission: Submission) -> Place {
        let isAsleep = intake.withLock { intake -> Bool? in
            guard !intake.isClosing, intake.admit(submission) else { return nil }
            let isAsleep = intake.isAsleep
            intake.isAsleep = false
            return isAsleep
        }
        return isAsleep.map { .admitted(wake: $0) } ?? place(submission, Admission())
    }

    /// Wakes the thread for a request that has its place, and waits until there is room for it.
    nonisolated(nonsending) func settle(_ submission: Submission, _ place: Place) async {
        settlePosted(submission, place)
        guard case .inLine(let admission?, _) = place else { return }
        await withTaskCancellationHandler {
            await admission.wait()
        } onCancel: {
            submission.settle(.failure(Self.cancelled))
            admission.end()
            hand(over: .withdrawSettled)
        }
    }

    /// Submits a request to the thread without waiting for room.
    func post(_ submission: Submission) { settlePosted(submission, enterPosted(submission)) }

    /// Gives a request its place that nobody waits with; ``settlePosted(_:_:)`` follows.
    func enterPosted(_ submission: Submission) -> Place { place(submission, nil) }

    /// Wakes the thread for a request that has its place.
    func settlePosted(_ submission: Submission, _ place: Place) {
        switch place {
        case .refused(let error): submission.settle(.failure(error))
        case .admitted(let wake), .inLine(_, let wake): if wake { transport.wake() }
        }
    }

    private func place(_ submission: Submission, _ admission: Admission?) -> Place {
        intake.withLock { intake in
            if intake.isClosing { return .refused(Self.closed) }
            let isAdmitted = intake.admit(submission)
            if !isAdmitted {
                if admission == nil, !intake.hasRoomToPost {
                    return .refused(
                        BusError(
                            .limit,
                            "\(intake.mostPosted) posted requests wait for room already; wait for their answers."
                        ))
                }
                intake.standInLine(submission, admission)
            }
            // A queued request wakes the thread too: its time-out has to be watched.
            let wake = intake.isAsleep
            intake.isAsleep = false
            return isAdmitted ? .admitted(wake: wake) : .inLine(admission, wake: wake)
        }
    }

    func hand(over command: Intake.Command) {
        let wake = intake.withLock { intake -> Bool in
            if intake.hasEnded { return false }
            intake.commands.append(command)
            let wake = intake.isAsleep
            intake.isAsleep = false
            return wake
        }
        if wake { transport.wake() }
    }

    // MARK: - Ending

    /// Closes as soon as every submitted request is answered, or after the time allowed for that.
    func close(within time: Duration) {
        intake.withLock { $0.isClosing = true }
        hand(over: .close(deadline: MonotonicClock.moment(after: time)))
    }

    static let cancelled = BusError(.cancelled, "The task that waited for the bus was cancelled.")
    static let closed = ClientSession.closed
}
