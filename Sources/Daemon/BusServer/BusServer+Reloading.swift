import BusEngine
import BusLogic
import BusProtocol
import BusSource
import BusSystem
import Glibc
import Logging

/// Reloads what the engine takes from outside: types, limits and tokens change while clients stay connected.
///
/// Files are read and compiled beside the bus, which takes a second for some megabytes of them; what was read is then committed
/// between two turns. One reload comes after the other, because the next one begins with what the one before has left.
extension BusServer {
    /// Reloads the configuration and commits its types, as the request `reload` does.
    package func reload() {
        enter { [self] in
            if loop == nil { return isReloadDue = true }
            service.tellReloading()
            reload(nil)
        }
    }

    func engineConfiguration() -> EngineConfiguration {
        var configuration = EngineConfiguration(
            epoch: UUIDText.random(), ownUID: Int(geteuid()), version: Version.text)
        configuration.limits = setup.configuration.limits
        configuration.hashSeed = .random(in: .min ... .max)
        configuration.tokenName = { [unowned self] in setup.tokens.name(for: $0) }
        configuration.tokenDigest = { [unowned self] in setup.tokens.digest(of: $0) }
        configuration.knownTypes = setup.natives
        configuration.access = setup.rules
        configuration.lookUp = { [users] in users.lookUp($0) }
        configuration.reportsFrom =
            logger.logLevel <= .debug ? .debug : logger.logLevel <= .info ? .info : .notice
        return configuration
    }

    /// Reloads everything, for a client that requested it or (nil) for the daemon itself.
    /// The engine reports the result.
    func reload(_ request: ReloadRequest?) {
        reloads.append(request)
        if reloads.count == 1 { readFiles() }
    }

    private func readFiles() {
        let (before, asker) = (setup, files)
        files?.async { [self] in
            let read = Result { () throws(StartFailure) in try before.reloaded() }
            enter { [self] in
                guard let loop, asker === files else { return }
                finish(reloads.removeFirst(), read, loop)
                if !reloads.isEmpty { readFiles() }
            }
        }
    }

    private func finish(
        _ request: ReloadRequest?, _ read: Result<ServerSetup, StartFailure>, _ loop: EventLoop
    ) {
        loop.beginTurn()
        let began = MonotonicClock.nanoseconds
        adopt(read, for: request, loop)
        loop.engine.noteTime(MonotonicClock.nanoseconds - began)
        loop.flush(all: request == nil)
        let now = MonotonicClock.milliseconds
        if request == nil {
            service.tell(.ready)
            loop.pulse?.turnEnded(now: now)
        }
        loop.armTimer()
        if loop.hasWork { bell.ring() }
    }

    private func adopt(
        _ read: Result<ServerSetup, StartFailure>, for request: ReloadRequest?, _ loop: EventLoop
    ) {
        do throws(StartFailure) {
            let next = try read.get()
            users.forget()
            let loaded = LoadedDefinitions(
                types: next.types, limits: next.configuration.limits, access: next.rules,
                restart: started.differences(in: StartSettings(next)))
            guard loop.engine.finishReload(request, .success(loaded)) else { return }
            if !loaded.restart.isEmpty {
                logger.notice(
                    "\(loaded.restart.joined(separator: ", ")): changed since the start, which takes a restart",
                    metadata: LogKind.reloaded.metadata)
            }
            adopt(next, loop)
        } catch {
            let failure = ReloadFailure(message: error.messages.joined(separator: "\n"))
            _ = loop.engine.finishReload(request, .failure(failure))
        }
    }

    /// The types and limits are in force; the rest follows.
    private func adopt(_ next: ServerSetup, _ loop: EventLoop) {
        setup = next
        DescriptorLimit.raise(for: next.configuration.limits.daemon.connections, logger)
        loop.limits = next.configuration.limits
        loop.adopt(next.contexts)
        loop.engine.endWithoutToken()
    }
}
