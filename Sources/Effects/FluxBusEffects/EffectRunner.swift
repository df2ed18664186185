import BusEffects
import BusJSON
import BusSystem
import Dispatch
import FluxBus

/// One effect at work: what the bus tells goes into its machine, what the machine wants started is started, and where it
/// stands goes to the bus.
///
/// `@unchecked Sendable`: everything is touched on the host's queue only, apart from `inlet`, which locks.
final class EffectRunner: @unchecked Sendable {
    let entry: EffectCatalog.Entry
    let host: EffectHost
    var effect: Effect { entry.effect }

    let inlet = Inlet()
    var machine: EffectMachine
    private(set) var epoch = ""
    /// What is done with events from before: where this service has handled the effect all the time, there was no downtime.
    var downtime: Effect.Downtime { claim.epochBefore == epoch ? .all : effect.downtime }
    private var subscription: SubscriptionHandle?

    /// Actions in the order of the bus that the machine has not got yet, as the first of them waits for the stores that it
    /// went to.
    var intake: [(action: ActionEvent, size: Int)] = []
    var isLookingUp = false
    /// How many actions have come out of the inlet, and into the machine.
    var taken = 0

    /// Events that were set aside before this service began, and those that are to be tried again.
    private var aside: Set<EffectEvent.ID> = []
    var again: Set<EffectEvent.ID> = []
    /// Events of which a dispatch may have been committed, and of how many actions to come an earlier service may have begun some.
    var uncertain: Set<EffectEvent.ID> = []
    var uncertainLeft = 0
    var deeds: [EffectEvent.ID: any RunningDeed] = [:]
    /// Those that took too long and were told to end.
    var late: Set<EffectEvent.ID> = []

    /// Of an effect with a condition: for which stores it holds, and what the bus told of that and is not taken in yet.
    var tracker: ConditionTracker?
    var changes: [(change: ChangeEvent, size: Int)] = []
    var isScanning = false
    var scanned = 0
    /// While what happened during a downtime is looked up: the newest event of each store.
    var newest: [String: EffectEvent]?
    /// More has become true than there is room for.
    var isStuck = false
    var holdWake = Double.infinity

    /// Whether jobs are being started, whether that has to be done once more, and when it is done next.
    private var pumping = (isRunning: false, isAgain: false, next: Int.max)
    /// What its store said while it began.
    var latest: (standing: EffectStanding, revision: Int)?
    var claim = Claim()
    var reporting = Reporting()

    enum Phase { case beginning, following, retiring, over }
    private(set) var phase = Phase.beginning
    private var onBegun: (@Sendable () -> Void)?
    private var onRetired: [@Sendable () -> Void] = []
    private var lastComplaint = ""

    /// - Parameter last: The runner of the effect that has just ended, in this service.
    init(_ entry: EffectCatalog.Entry, _ host: EffectHost, after last: EffectRunner? = nil) {
        self.entry = entry
        self.host = host
        claim.epochBefore = last?.epoch
        machine = EffectMachine(entry.effect, done: 0)
    }

    // MARK: - Beginning

    /// Takes the effect up where its store says; `onBegun` is called once it follows the bus, or can't for now.
    func begin(_ onBegun: @escaping @Sendable () -> Void = {}) {
        self.onBegun = onBegun
        tryToBegin()
    }

    func tryToBegin() {
        guard phase == .beginning else { return }
        claim.begin()
        Task { [self] in
            do throws(BusError) {
                try await host.bus.create(effect.store, ifMissing: true)
                let (state, now) = try await host.bus.state(of: effect.store)
                let epoch = host.bus.greeting.epoch
                host.queue.async { [self] in resume(EffectStanding(state), now, epoch) }
            } catch {
                host.queue.async { [self] in complain(error) }
            }
        }
    }

    func complain(_ error: BusError) {
        guard phase == .beginning, error.code != .closed else { return }
        mention(error, "it can't begin yet")
        begun()
        claim.isHeldBack = error.code == .rejected
        host.after(EffectLimits.pause) { [self, attempt = claim.attempt] in
            if claim.attempt == attempt { tryToBegin() }
        }
    }

    /// Logs why something has to be tried again, unless that is what was logged last.
    func mention(_ error: BusError, _ what: String) {
        if error.message != lastComplaint { host.log("\(effect.name): \(what): \(error.message)") }
        lastComplaint = error.message
    }

    private func begun() {
        onBegun?()
        onBegun = nil
    }

    private func resume(_ standing: EffectStanding, _ now: Int, _ epoch: String) {
        guard phase == .beginning else { return }
        guard ["", host.owner].contains(standing.owner) else {
            return complain(
                BusError(.rejected, "it is handled by \(standing.owner), and here once that has ended."))
        }
        claim.meet(standing, in: epoch)
        let isSame = standing.epoch == epoch
        if !claim.isFirst, !isSame { lose(from: standing.done, to: now) }
        self.epoch = epoch
        // A service that was killed may have taken in what it has not settled.
        let isWhole = isSame && (downtime != .none || standing.left > standing.done)
        claim.left = isSame ? standing.left : now
        let done = isWhole ? standing.done : now
        aside = isSame ? Set(standing.failed.map(\.id) + standing.again.map(\.id)) : []
        uncertainLeft = isSame && !standing.isClean ? EffectLimits.window : 0
        if effect.becoming != nil {
            return resumeCondition(standing, isSame, isWhole, at: done, now)
        }
        machine = EffectMachine(effect, done: done, downtime: downtime, since: claim.left)
        follow(from: done, standing)
    }

    /// Follows the bus from a revision on, up to which everything is settled.
    func follow(from done: Int, _ standing: EffectStanding) {
        machine.isPaused = standing.paused != nil
        inlet.passed(done)
        takeUp(standing, at: done)
    }

    func subscribe(from point: ResumePoint, _ standing: EffectStanding) {
        guard phase == .beginning else { return }
        var options = Bus.SubscriptionOptions()
        if let becoming = effect.becoming {
            (options.condition, options.format) = (.string(becoming.text), .state)
            (options.wantsCause, options.select) = (true, ["/-"])
        } else {
            (options.wantsActions, options.since) = (true, point)
        }
        Task { [self, options] in
            do throws(BusError) {
                let handle = try await host.bus.subscribe(
                    to: .match(effect.pattern.text), options: options, takes: receiver())
                host.queue.async { [self] in followed(handle, standing) }
            } catch {
                host.queue.async { [self] in complain(error) }
            }
        }
    }

    private func followed(_ handle: SubscriptionHandle, _ standing: EffectStanding) {
        guard phase == .beginning else { return handle.cancel() }
        subscription = handle
        // It may have rested, and got room, before it was known.
        if inlet.rests != nil { handle.proceed() }
        phase = .following
        lastComplaint = ""
        begun()
        // A new history that the bus has begun meanwhile was not told to an effect that did not follow yet.
        guard host.bus.greeting.epoch == epoch else { return restart() }
        noticed(latest?.standing ?? standing, at: latest?.revision ?? 0)
        keepPlaceSoon()
        checkNames()
        catchUp()
        keepPlaceWhileIdle()
    }

    func lose(from: Int, to: Int, _ reason: String? = nil) {
        let reason = reason ?? "what happened after revision \(from) is not in the history any more"
        host.log("\(effect.name): \(reason).")
        host.tell(effect, "lose", ["from": .int(from), "to": .int(to)])
    }

    // MARK: - The bus's thread

    /// What takes events on the bus's thread: those that are not meant go no further.
    private func receiver() -> @Sendable (SubscriptionEvent, Int) -> Bool {
        let (effect, inlet, queue) = (entry.effect, inlet, host.queue)
        return { [weak self] event, size in
            switch event {
            case .action(let action):
                guard effect.mayMean(action) else {
                    inlet.passed(action.revision - 1)
                    return true
                }
                let hasRoom = inlet.add(action.revision, size: size)
                queue.async { [weak self] in self?.take(action, size) }
                return hasRoom
            case .bookmark(let revision): inlet.passed(revision)
            case .gap(let revision): queue.async { [weak self] in self?.missed(through: revision) }
            case .ended(let error): queue.async { [weak self] in self?.ended(error) }
            case .change(let change):
                let hasRoom = inlet.add(change.revision, size: size)
                queue.async { [weak self] in self?.take(change, size) }
                return hasRoom
            }
            return true
        }
    }

    private func missed(through revision: Int) {
        guard phase == .following || phase == .beginning else { return }
        if revision > machine.done, !claim.isFirst { lose(from: machine.done, to: revision) }
        inlet.passed(revision)
    }

    private func ended(_ error: BusError?) {
        guard phase == .following, let error else { return }
        host.log("\(effect.name): \(error.message)")
        restart()
    }

    // MARK: - Events

    private func take(_ action: ActionEvent, _ size: Int) {
        guard phase == .following || phase == .beginning else { return }
        intake.append((action, size))
        takeIn()
    }

    /// Hands the events of an action to the machine, apart from those that were set aside before.
    func enter(_ events: [EffectEvent]) {
        let (meant, isUncertain) = (events.filter { !aside.contains($0.id) }, uncertainLeft > 0)
        var free = events.reduce(0) { $0 + $1.size } - meant.reduce(0) { $0 + $1.size }
        if isUncertain, !meant.isEmpty { uncertainLeft -= 1 }
        for event in meant {
            if isUncertain { uncertain.insert(event.id) }
            guard let skipped = machine.take(event) else { continue }
            // It is not among those that an earlier service has begun.
            if uncertain.remove(skipped.id) != nil { uncertainLeft += 1 }
            free += skipped.size
        }
        makeRoom(free)
    }

    /// An event of a condition, which the machine may take at any time: what is not settled stands in the effect's store.
    func enter(held event: EffectEvent, isUncertain: Bool) {
        guard !aside.contains(event.id) else {
            tracker?.settled(event.id)
            return
        }
        if isUncertain { uncertain.insert(event.id) }
        machine.take(event, isAgain: true)
    }

    /// Lets the bus continue, where there is room again for more events.
    func makeRoom(_ bytes: Int = 0) {
        if inlet.update(taken: taken, left: machine.room, free: bytes) { subscription?.proceed() }
    }

    // MARK: - Jobs

    /// Starts what there is to start, and comes back when there may be more.
    func pump() {
        guard phase == .following, !pumping.isRunning else {
            pumping.isAgain = true
            return
        }
        pumping.isRunning = true
        defer { pumping.isRunning = false }
        repeat {
            pumping.isAgain = false
            for job in machine.jobs(at: MonotonicClock.nanoseconds) { perform(job) }
        } while pumping.isAgain
        let now = MonotonicClock.nanoseconds
        guard let due = machine.nextDue(at: now), due < pumping.next else { return }
        pumping.next = due
        host.after(.nanoseconds(max(0, due - now))) { [self] in
            if pumping.next == due { pumping.next = .max }
            pump()
        }
    }

    /// A job has ended. What fails while the effect retires is done again by whoever comes next.
    func finish(_ job: EffectMachine.Job, _ outcome: EffectMachine.Outcome) {
        // What comes of one that was given up is of no interest any more.
        guard deeds.removeValue(forKey: job.event.id) != nil else { return }
        keepPlaceSoon()
        var outcome = outcome
        if phase != .following, outcome != .succeeded, outcome != .notMeant { outcome = .failed("") }
        let failure = machine.finished(job.event, outcome, at: MonotonicClock.nanoseconds)
        if case .failed = outcome, failure == nil { return goOn() }
        if !job.isAgain { makeRoom(job.event.size) }
        if failure == nil { uncertain.remove(job.event.id) }
        if let failure {
            if phase == .following { setAside(failure, job.isAgain) }
        } else if again.contains(job.event.id) {
            host.tell(effect, "settled", ["event": .string("\(job.event.id)")]) { [self] in
                again.remove(job.event.id)
            }
        } else {
            tracker?.settled(job.event.id)
        }
        goOn()
    }

    private func goOn() {
        if phase == .following { return pump() }
        if machine.running == 0 { retired() }
    }

    private func setAside(_ failure: EffectMachine.Failure, _ isAgain: Bool) {
        let reason = String(decoding: failure.reason.utf8.prefix(EffectLimits.reason), as: UTF8.self)
        // The bus may end its sentence with a question.
        let end = reason.hasSuffix("?") ? "" : "."
        // What follows from a condition is no action.
        let what = failure.action.isEmpty ? failure.store : "\(failure.action) of \(failure.store)"
        host.log("\(effect.name): \(what) (\(failure.id)) is set aside: \(reason)\(end)")
        let payload: JSONObject = [
            "event": .string("\(failure.id)"), "store": .string(failure.store),
            "action": .string(failure.action),
            "reason": .string(reason), "tries": .int(failure.tries),
        ]
        host.tell(effect, "setAside", payload) { [self] in
            again.remove(failure.id)
            if !isAgain { machine.settled(failure.id) }
            makeRoom()
            tracker?.settled(failure.id)
            keepPlaceSoon()
        }
    }

    /// Handles no more events, and says why.
    func pause(_ reason: String) {
        guard !machine.isPaused else { return }
        machine.isPaused = true
        host.log("\(effect.name): paused: \(reason).")
        host.tell(effect, "pause", ["reason": .string(reason)])
    }

    // MARK: - The end

    /// Stops following the bus, and is over when what runs has ended: then its place is on the bus.
    func retire(_ onRetired: @escaping @Sendable () -> Void) {
        self.onRetired.append(onRetired)
        switch phase {
        case .beginning: over()
        case .over: over()
        case .retiring: break
        case .following:
            phase = .retiring
            if machine.running == 0 { retired() }
        }
    }

    /// Ends the programs and the requests that still run, and waits for nothing else.
    func endDeeds() {
        for deed in deeds.values { deed.end() }
    }

    private func retired() {
        guard phase == .retiring else { return }
        settlePlace { [self] in over() }
    }

    private func over() {
        phase = .over
        subscription?.cancel()
        subscription = nil
        begun()
        for onRetired in onRetired { onRetired() }
        onRetired = []
    }

    /// Starts over at the place that is on the bus, once what runs has ended.
    func restart() {
        guard phase == .following else { return }
        host.log("\(effect.name): it starts over.")
        retire { [self] in host.restart(self) }
    }

    var isFollowing: Bool { phase == .following }
}

extension Effect {
    /// Whether an action may be meant, as far as can be said without the state.
    fileprivate func mayMean(_ action: ActionEvent) -> Bool {
        guard concerns(action: action.action, store: action.store, type: action.type) else { return false }
        guard let store = action.store, let condition, !condition.reads.contains("state") else { return true }
        let event = EffectEvent(
            .init(revision: action.revision, index: action.index ?? 0), store: store, object: action.object)
        return isMeant(event)
    }
}
