import BusEngine
import BusLogic
import BusSource
import Glibc
import Logging

/// What the engine asks of the world, and reading it anew: types, limits and tokens change while clients stay.
extension BusServer {
    /// Reads the configuration anew and commits its types, as the request `reload` does.
    package func reload() {
        enter { [self] in
            guard let loop else { return }
            service.tellReloading()
            loop.beginTurn()
            // What came of it is logged where it happened.
            try? loop.engine.reload()
            loop.flush(all: true)
            service.tell(.ready)
            loop.pulse?.turnEnded(now: MonotonicClock.read())
            loop.armTimer()
        }
    }

    func engineConfiguration(_ log: ClientLog) -> EngineConfiguration {
        var configuration = EngineConfiguration(
            epoch: Epoch.random(), ownUID: Int(geteuid()), version: Version.text)
        configuration.limits = setup.configuration.limits
        configuration.hashSeed = .random(in: .min ... .max)
        configuration.tokenName = { [unowned self] in setup.tokens.name(for: $0) }
        configuration.loadTypes = { [unowned self] () throws(ReloadFailure) in try readAgain() }
        configuration.reloaded = { [unowned self] in adoptReloaded() }
        configuration.compile = setup.replaying.compile
        configuration.ask = { [unowned self] in loop?.keeper?.ask($0) }
        configuration.reportsFrom =
            logger.logLevel <= .debug ? .debug : logger.logLevel <= .info ? .info : .notice
        configuration.report = { [weak self] note in
            log.note(note)
            switch note.kind {
            case .reloadRefused: self?.loop?.pulse?.note(trouble: note.message, now: MonotonicClock.read())
            case .reloaded: self?.loop?.pulse?.note(trouble: nil, now: MonotonicClock.read())
            default: break
            }
        }
        return configuration
    }

    /// Reads everything anew. The engine takes the types if every store fits them; then `adoptReloaded` takes the rest.
    private func readAgain() throws(ReloadFailure) -> [any StateType] {
        do throws(StartFailure) {
            let next = try setup.reloaded()
            reloadedSetup = next
            return next.types
        } catch {
            reloadedSetup = nil
            throw ReloadFailure(message: error.messages.joined(separator: " "))
        }
    }

    private func adoptReloaded() {
        guard let next = reloadedSetup, let loop else { return }
        reloadedSetup = nil
        if next.configuration.listen.map(\.text) != setup.configuration.listen.map(\.text) {
            logger.notice("listen: has changed; that takes a restart")
        }
        if next.configuration.log?.text != setup.configuration.log?.text {
            logger.notice("log: has changed; that takes a restart")
        }
        setup = next
        DescriptorLimit.raise(for: next.configuration.limits.connections, logger)
        loop.limits = next.configuration.limits
        loop.engine.adopt(next.configuration.limits)
    }
}

extension ServerSetup {
    /// What a log is carried out with.
    var replaying: EngineConfiguration {
        var configuration = EngineConfiguration(epoch: "", ownUID: Int(geteuid()), version: Version.text)
        let natives = natives
        configuration.compile = { (definition) throws(ReloadFailure) in
            // A type that this daemon has in code, as far as it is still the same.
            if let native = natives.first(where: { $0.definition == definition }) { return native }
            do throws(SourceError) {
                return try DeclaredType(definition: definition)
            } catch {
                throw ReloadFailure(message: error.description)
            }
        }
        return configuration
    }
}
