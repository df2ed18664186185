import BusCluster
import BusEngine
import BusLogic
import BusMachine
import BusSystem
import Systemd

/// Waits during a start for what the shared log delivers, and tells the service manager for what.
struct ClusterWait {
    private let coordinator: ClusterCoordinator
    private let service: Service
    private let bell: EventFD
    private let isEnding: () -> Bool

    /// In milliseconds.
    private static let longest: Int32 = 100
    private static let statusInterval = 1000
    /// Between attempts to get what the others do not have.
    private static let pause: Int32 = 1000

    init(
        _ coordinator: ClusterCoordinator, _ service: Service, _ bell: EventFD,
        _ isEnding: @escaping () -> Bool
    ) {
        self.coordinator = coordinator
        self.service = service
        self.bell = bell
        self.isEnding = isEnding
    }

    func until(_ isDone: () throws(StartFailure) -> Bool) throws(StartFailure) {
        var failure: StartFailure?
        coordinator.giveUp = { failure = failure ?? $0 }
        var told = 0
        while true {
            coordinator.hear()
            coordinator.tickIfDue(now: MonotonicClock.milliseconds)
            if let failure { throw failure }
            if try isDone() { return }
            if isEnding() {
                throw StartFailure(.inUse, "The start was cancelled while it waited for the shared log.")
            }
            let now = MonotonicClock.milliseconds
            if now >= told + Self.statusInterval {
                told = now
                service.tellWaiting(for: coordinator.waitingFor)
            }
            if !coordinator.hasUnheard { bell.wait(milliseconds: Self.longest) }
        }
    }

    /// Before something is tried again.
    func pause() { bell.wait(milliseconds: Self.pause) }
}

/// The first member that finds no bus in the log begins it, with what it is configured with, or with its own history.
final class ClusterBeginning {
    private let coordinator: ClusterCoordinator
    private let loaded: LoadedDefinitions
    private var isOffered = false

    init(_ coordinator: ClusterCoordinator, _ configuration: EngineConfiguration, _ types: [any StateType]) {
        self.coordinator = coordinator
        loaded = LoadedDefinitions(types: types, limits: configuration.limits, access: configuration.access)
    }

    func offerIfDue() {
        let (member, replica) = (coordinator.member, coordinator.member.replica)
        guard !isOffered, !replica.hasBegun, member.isCaughtUp, member.canPropose else { return }
        isOffered = true
        let machine = replica.machine
        let beginning = BusBeginning(
            epoch: machine.revision == 0 ? UUIDText.random() : machine.epoch, revision: machine.revision,
            digest: machine.stateDigest)
        coordinator.submitAtStart(
            ClusterEntry(
                session: 0, by: ClusterEntry.daemon, isOperator: true,
                .configure(loaded.entry(beginning: beginning))))
    }
}
