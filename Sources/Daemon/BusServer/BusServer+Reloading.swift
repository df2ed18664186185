import BusEngine
import BusLogic
import BusSource
import Glibc
import Logging

/// Reloads what the engine takes from outside: types, limits and tokens change while clients stay connected.
extension BusServer {
    /// Reloads the configuration and commits its types, as the request `reload` does.
    package func reload() {
        enter { [self] in
            guard let loop else { return }
            service.tellReloading()
            loop.beginTurn()
            reload(nil, loop)
            loop.flush(all: true)
            service.tell(.ready)
            loop.pulse?.turnEnded(now: MonotonicClock.read())
            loop.armTimer()
        }
    }

    func engineConfiguration() -> EngineConfiguration {
        var configuration = EngineConfiguration(
            epoch: Epoch.random(), ownUID: Int(geteuid()), version: Version.text)
        configuration.limits = setup.configuration.limits
        configuration.hashSeed = .random(in: .min ... .max)
        configuration.tokenName = { [unowned self] in setup.tokens.name(for: $0) }
        configuration.knownTypes = setup.natives
        configuration.access = setup.rules
        configuration.lookUp = { [users] in users.lookUp($0) }
        configuration.reportsFrom =
            logger.logLevel <= .debug ? .debug : logger.logLevel <= .info ? .info : .notice
        return configuration
    }

    /// Reloads everything, for a client that requested it or (nil) for the daemon itself.
    /// The engine reports the result.
    func reload(_ request: ReloadRequest?, _ loop: EventLoop) {
        do throws(StartFailure) {
            let next = try setup.reloaded()
            users.forget()
            let loaded = LoadedDefinitions(
                types: next.types, limits: next.configuration.limits, access: next.rules)
            guard loop.engine.finishReload(request, .success(loaded)) else { return }
            adopt(next, loop)
        } catch {
            let failure = ReloadFailure(message: error.messages.joined(separator: "\n"))
            _ = loop.engine.finishReload(request, .failure(failure))
        }
    }

    /// The types and limits are in force; the rest follows.
    private func adopt(_ next: ServerSetup, _ loop: EventLoop) {
        if next.configuration.listen.map(\.text) != setup.configuration.listen.map(\.text) {
            logger.notice("listen: has changed; that takes a restart")
        }
        if next.configuration.log?.text != setup.configuration.log?.text {
            logger.notice("log: has changed; that takes a restart")
        }
        setup = next
        DescriptorLimit.raise(for: next.configuration.limits.daemon.connections, logger)
        loop.limits = next.configuration.limits
        loop.adopt(next.contexts)
    }
}
