import Synchronization

/// The state shared by all handles of one bus: the hand-over to its thread, and what is known of its connection.
///
/// Its locks are leaves: each guards one queue or one value, and none is held while other code runs.
final class BusCore: Sendable {
    let address: BusAddress
    let options: BusOptions
    let intake: Mutex<Intake>
    let wakeUp: WakeUp
    let state: Mutex<BusObservation>
    let revision = Atomic<Int>(0)
    let nextSubscription = Atomic<Int>(1)

    init(_ address: BusAddress, options: BusOptions) throws(BusError) {
        self.address = address
        self.options = options
        wakeUp = try WakeUp()
        intake = Mutex(Intake(options))
        state = Mutex(BusObservation())
    }

    // MARK: - Handing over

    private enum Place {
        case admitted(wake: Bool)
        case inLine(wake: Bool)
        case refused(BusError)
    }

    /// Submits a request to the thread, waiting for room if there is none.
    nonisolated(nonsending) func submit(_ submission: Submission) async {
        let isAdmitted = intake.withLock { intake -> Bool? in
            guard !intake.isClosing, intake.admit(submission) else { return nil }
            let isAsleep = intake.isAsleep
            intake.isAsleep = false
            return isAsleep
        }
        if let isAsleep = isAdmitted {
            if isAsleep { wakeUp.signal() }
            return
        }
        await standInLine(submission)
    }

    private nonisolated(nonsending) func standInLine(_ submission: Submission) async {
        let admission = Admission()
        switch place(submission, admission) {
        case .refused(let error): return submission.settle(.failure(error))
        case .admitted(let wake):
            if wake { wakeUp.signal() }
        case .inLine(let wake):
            if wake { wakeUp.signal() }
            await withTaskCancellationHandler {
                await admission.wait()
            } onCancel: {
                submission.settle(.failure(Self.cancelled))
                admission.end()
                hand(over: .withdrawSettled)
            }
        }
    }

    /// Submits a request to the thread without waiting for room.
    func post(_ submission: Submission) {
        switch place(submission, nil) {
        case .refused(let error): submission.settle(.failure(error))
        case .admitted(let wake), .inLine(let wake): if wake { wakeUp.signal() }
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
            return isAdmitted ? .admitted(wake: wake) : .inLine(wake: wake)
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
        if wake { wakeUp.signal() }
    }

    // MARK: - Ending

    /// Closes as soon as every submitted request is answered, or after the time allowed for that.
    func close(within time: Duration) {
        intake.withLock { $0.isClosing = true }
        hand(over: .close(deadline: MonotonicClock.moment(after: time)))
    }

    static let cancelled = BusError(.cancelled, "The task that waited for the bus was cancelled.")
    static let closed = BusError(
        .closed, "This connection to the bus was closed; connect again to go on.")
}
