/// Requests and commands for the thread of a bus, and the room there is for more.
///
/// Requests without room are queued. The queue moves only once half of the room is free again, so that a fast sender is
/// woken for many requests at a time and not for each.
struct Intake {
    /// A command for the session that is no request.
    enum Command: Sendable {
        case cancelSubscription(Int)
        case continueSubscription(Int)
        case withdrawSettled
        case reconnect
        case close(deadline: Int)
    }

    struct InLine {
        let submission: Submission
        let admission: Admission?
    }

    let window: Int
    let mostUnsent: Int
    let mostUnanswered: Int
    let mostPosted: Int

    var submissions: [Submission] = []
    var commands: [Command] = []
    var line = RingQueue<InLine>()
    /// No queued request times out before this.
    private(set) var lineDeadline = Int.max
    private var posted = 0
    /// Requests that were admitted and have not left the session, and their bytes.
    private var admitted = 0
    private var admittedBytes = 0
    /// Bytes that are not sent yet.
    private var unsentBytes = 0
    /// True while the thread waits, or is about to: a sender must wake it.
    var isAsleep = false
    /// The bus is being closed: queued requests are still admitted, new ones are not.
    var isClosing = false
    /// The thread has ended; nothing is accepted any more.
    var hasEnded = false

    init(_ options: BusOptions) {
        window = max(1, options.window)
        mostUnsent = options.unsentBytes
        mostUnanswered = options.unansweredBytes
        mostPosted = options.postLimit
    }

    /// Admits the request and returns true if there is room and the queue is empty.
    mutating func admit(_ submission: Submission) -> Bool {
        guard line.isEmpty, hasRoom(for: submission.size) else { return false }
        letIn(submission)
        return true
    }

    mutating func standInLine(_ submission: Submission, _ admission: Admission?) {
        line.append(InLine(submission: submission, admission: admission))
        lineDeadline = min(lineDeadline, submission.deadline)
        if admission == nil { posted += 1 }
    }

    /// Removes the requests from the queue that have timed out.
    mutating func takeLate(at now: Int) -> [InLine] {
        guard now >= lineDeadline else { return [] }
        var late: [InLine] = []
        rebuildLine { waiting in
            guard waiting.submission.deadline <= now else { return true }
            late.append(waiting)
            return false
        }
        return late
    }

    /// Removes settled requests from the queue.
    mutating func forgetSettled() {
        rebuildLine { !$0.submission.isSettled }
    }

    private mutating func rebuildLine(keeping isKept: (InLine) -> Bool) {
        lineDeadline = .max
        for waiting in line.removeAll() {
            if isKept(waiting) {
                line.append(waiting)
                lineDeadline = min(lineDeadline, waiting.submission.deadline)
            } else if waiting.admission == nil {
                posted -= 1
            }
        }
    }

    /// Whether one more posted request, without a waiting task, may be queued.
    var hasRoomToPost: Bool { posted < mostPosted }

    /// This many requests have left the session, and this many bytes are unsent. Returns the tasks that may continue.
    mutating func release(_ count: Int, bytes: Int, unsent: Int) -> [Admission] {
        admitted -= count
        admittedBytes -= bytes
        unsentBytes = unsent
        for submission in submissions { unsentBytes += submission.size }
        guard !line.isEmpty else { return [] }
        guard admitted <= window / 2, unsentBytes <= mostUnsent / 2, admittedBytes <= mostUnanswered / 2
        else {
            return []
        }
        var awake: [Admission] = []
        while let first = line.first, first.submission.isSettled || hasRoom(for: first.submission.size) {
            _ = line.popFirst()
            if first.admission == nil { posted -= 1 }
            if let admission = first.admission { awake.append(admission) }
            if !first.submission.isSettled { letIn(first.submission) }
        }
        return awake
    }

    private func hasRoom(for size: Int) -> Bool {
        admitted < window && (unsentBytes == 0 || unsentBytes + size <= mostUnsent)
            && (admittedBytes == 0 || admittedBytes + size <= mostUnanswered)
    }

    private mutating func letIn(_ submission: Submission) {
        submissions.append(submission)
        admitted += 1
        admittedBytes += submission.size
        unsentBytes += submission.size
    }
}
