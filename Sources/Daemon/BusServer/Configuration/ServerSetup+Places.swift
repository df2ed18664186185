import BusEngine
import BusLog

/// What a start needs of the machine and what can be known of it before anything is opened. `--check` and a start look at
/// the same, so what one finds right the other does not refuse.
extension ServerSetup {
    /// Throws everything at once that would keep a daemon from starting here. Nothing is made or changed.
    package func check() throws(StartFailure) {
        var errors = ConfigurationErrors()
        checkPlaces(&errors)
        var rehearsal = EngineConfiguration(epoch: "", ownUID: 0, version: Version.text)
        rehearsal.limits = configuration.limits
        createStores(in: Engine(rehearsal, types: types), &errors)
        try errors.throwIfAny()
    }

    /// The same of sockets and log only: the stores are told by the engine that makes them.
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
            // Anything else may be over when the daemon starts.
            if [.readOnly, .notALog, .newerForm].contains(error.kind) {
                errors.add(error.message, at: path.place)
            }
        }
    }

    /// Makes the configured stores that are not there.
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
