import BusEngine
import BusHistory
import BusLog
import BusMachine
import Glibc

/// What a start needs of the machine, as far as it can be checked before anything is opened. `--check` and a start make
/// the same checks, so what the one accepts the other does not refuse.
extension ServerSetup {
    /// Throws all errors at once that would keep a daemon from starting here. Nothing is created or changed.
    package func check() throws(StartFailure) {
        var errors = ConfigurationErrors()
        checkPlaces(&errors)
        var rehearsal = EngineConfiguration(epoch: "", ownUID: 0, version: Version.text)
        rehearsal.limits = configuration.limits
        createStores(in: Engine(rehearsal, types: types), &errors)
        if errors.isEmpty { checkLog(&errors) }
        for doubt in doubts.errors { errors.add(doubt) }
        try errors.throwIfAny()
    }

    /// Checks that the types fit the stores in the log, as a start does.
    private func checkLog(_ errors: inout ConfigurationErrors) {
        guard let path = configuration.log?.path, access(path.value, F_OK) == 0 else { return }
        do throws(PastFailure) {
            let past = try LogPast(path: path.value)
            // A log that was never used.
            if try past.snapshots().isEmpty { return }
            let machine = try Replayer(knowing: natives, hashSeed: .random(in: .min ... .max)).machine(
                from: past)
            machine.limits = configuration.limits.bus
            do throws(Redefinition.Refusal) {
                _ = try machine.redefinition(with: types, access: rules, isWithEphemeral: false)
            } catch {
                errors.add(error, of: types, log: path.place)
            }
        } catch {
            // What can't be read now may be readable when the daemon starts.
            if error.kind == .damaged { errors.add(error.message, at: path.place) }
        }
    }

    /// The same for sockets and log only: errors of stores are reported by the engine that creates them.
    package func checkPlaces() throws(StartFailure) {
        var errors = ConfigurationErrors()
        checkPlaces(&errors)
        try errors.throwIfAny()
    }

    private func checkPlaces(_ errors: inout ConfigurationErrors) {
        for address in configuration.listen {
            guard case .unix(let path, let mode, let group) = address.kind else { continue }
            let listening = UnixListening(path: path, mode: mode, group: group, place: address.place)
            for error in listening.errors() { errors.add(error) }
        }
        guard let path = configuration.log?.path else { return }
        do throws(LogFailure) {
            try LogFile.check(path.value)
        } catch {
            // Any other error may be gone when the daemon starts.
            if [.readOnly, .notALog, .newerForm].contains(error.kind) {
                errors.add(error.message, at: path.place)
            }
        }
    }

    /// Creates the configured stores that do not exist.
    func createStores(in engine: Engine, _ errors: inout ConfigurationErrors) {
        for store in configuration.stores {
            do {
                try engine.createConfigured(store.value)
            } catch {
                errors.add("The store \(store.value): \(error.message)", at: store.place)
            }
        }
    }
}
