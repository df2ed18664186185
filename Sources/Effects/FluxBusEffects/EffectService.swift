import BusEffects
import BusJSON
import BusSource
import BusSystem
import Dispatch
import FluxBus

/// The effects of a directory at work on a bus.
///
/// `@unchecked Sendable`: everything is touched on its queue only.
package final class EffectService: @unchecked Sendable {
    private let queue = DispatchQueue(label: "fluxbus.effects")
    private let host: EffectHost
    private var runners: [String: EffectRunner] = [:]
    /// Effects that begin once the one of the same name before them is over.
    private var next: [String: EffectCatalog.Entry] = [:]
    private var isEnding = false
    private var watch: SubscriptionHandle?
    private let log: @Sendable (String) -> Void

    /// - Parameter log: Gets a line for whoever looks after the service.
    package init(
        on bus: Bus, environment: [String: String] = [:], log: @escaping @Sendable (String) -> Void
    ) {
        host = EffectHost(bus, queue, environment: environment, log: log)
        self.log = log
        queue.async { [self] in
            host.restart = { [weak self] runner in self?.begin(runner.entry, after: runner) }
        }
    }

    /// How many effects there are, for the manager's status.
    package var count: Int { queue.sync { runners.count } }

    /// Follows the bus. Returns once each effect has begun, or can't for now, which it says.
    ///
    /// Throws what the bus says about its type `effect`: without it there is nothing to begin with.
    package func start(_ entries: [EffectCatalog.Entry]) async throws(BusError) {
        do throws(BusError) {
            // However this service goes, another one may go on with its effects.
            try await host.bus.setWill([
                ActionRequest("release", to: .type("effect"), payload: ["owner": .string(host.owner)])
            ])
        } catch {
            guard [.unknownType, .unknownAction, .invalidPayload].contains(error.code) else { throw error }
            throw BusError(
                .unknownType,
                "The bus has no type effect, or an older one; put effect.yaml of the samples into its directory of types, and reload it."
            )
        }
        var options = Bus.SubscriptionOptions()
        options.format = .state
        let handle = try await host.bus.subscribe(to: .type("effect"), options: options) {
            [weak self] event in
            guard case .change(let change) = event else { return }
            self?.queue.async { [weak self] in self?.noticed(change.states, at: change.revision) }
        }
        let notices = host.bus.notices
        Task { [weak self] in
            for await notice in notices {
                switch notice {
                case .epochChanged: self?.queue.async { [weak self] in self?.historyBegan() }
                case .willLost(let error):
                    self?.log(
                        "The bus does not take what it is to do when this service goes: \(error.message)")
                default: break
                }
            }
        }
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let group = DispatchGroup()
            queue.async { [self] in
                watch = handle
                for entry in entries {
                    group.enter()
                    begin(entry) { group.leave() }
                }
                group.notify(queue: queue) { done.resume() }
            }
        }
    }

    private func begin(
        _ entry: EffectCatalog.Entry, after last: EffectRunner? = nil,
        _ onBegun: @escaping @Sendable () -> Void = {}
    ) {
        guard !isEnding else { return onBegun() }
        let runner = EffectRunner(entry, host, after: last)
        runners[entry.effect.name] = runner
        runner.begin(onBegun)
    }

    private func noticed(_ states: JSONObject, at revision: Int) {
        for (address, state) in states.members.map({ ($0.key, $0.value) }) {
            runners[String(address.dropFirst("effect/".count))]?.noticed(EffectStanding(state), at: revision)
        }
    }

    private func historyBegan() {
        log("The bus has begun a new history.")
        for runner in runners.values { runner.restart() }
    }

    // MARK: - Reload

    /// Other files are in force: what has not changed continues, the others end with what they have begun, and start over.
    package func reload(_ entries: [EffectCatalog.Entry]) {
        queue.async { [self] in
            let wanted = Dictionary(entries.map { ($0.effect.name, $0) }) { first, _ in first }
            for (name, runner) in runners where wanted[name]?.bytes != runner.entry.bytes {
                next[name] = wanted[name]
                runner.retire { [weak self] in self?.replace(runner) }
            }
            for entry in entries where runners[entry.effect.name] == nil { begin(entry) }
        }
    }

    private func replace(_ runner: EffectRunner) {
        let name = runner.effect.name
        guard runners[name] === runner else { return }
        runners[name] = nil
        if let entry = next.removeValue(forKey: name) { return begin(entry, after: runner) }
        host.tell(runner.effect, "release", ["owner": .string(host.owner)])
    }

    // MARK: - The watchdog

    /// Calls `beat` at least once in each `time` while the service goes on: while its queue, the bus's thread and that of requests
    /// take their turns, and no event waits that could be begun. That the bus does not answer, or a target hangs, is no reason not to.
    package func pulse(every time: Duration, _ beat: @escaping @Sendable () -> Void) {
        let part = time / 4
        host.after(part) { [weak self] in
            guard let self else { return }
            // Whatever comes of it, the bus's thread has had its turn.
            host.bus.post(BusRequest("ping"), timeout: .after(part)) { [weak self] _ in
                self?.queue.async { [weak self] in
                    self?.host.passPosts { [weak self] in self?.turned(time, beat) }
                }
            }
        }
    }

    private func turned(_ time: Duration, _ beat: @escaping @Sendable () -> Void) {
        let moment = MonotonicClock.nanoseconds - time.nanoseconds / 4
        if !runners.values.contains(where: { $0.isFollowing && $0.machine.isLate(at: moment) }) { beat() }
        pulse(every: time, beat)
    }

    // MARK: - The end

    /// Begins nothing more, and returns when what runs has ended and the bus knows where every effect stands. Programs that
    /// take longer than `EffectLimits.ending` are ended; their events are handled again by the next service.
    package func stop() async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let group = DispatchGroup()
            queue.async { [self] in
                isEnding = true
                for runner in runners.values {
                    group.enter()
                    runner.retire { group.leave() }
                }
                host.after(EffectLimits.ending) { [self] in
                    for runner in runners.values { runner.endDeeds() }
                }
                group.notify(queue: queue) { [self] in
                    watch = nil
                    done.resume()
                }
            }
        }
    }
}
