/// One dispatch on its way through the handlers. Each handler receives it, to say which handlers it waits for.
public final class DispatchTurn {
    private enum Progress {
        case waiting
        case running
        case done
        case failed(any Error)
    }

    private let outcome: String
    private let result: any Sendable
    private let handlers: [DispatchHandler]
    private let isRegistered: (DispatchToken) -> Bool
    private var progress: [DispatchToken: Progress]
    private var firstError: (any Error)?

    init(
        outcome: String, result: any Sendable, handlers: [DispatchHandler],
        isRegistered: @escaping (DispatchToken) -> Bool
    ) {
        self.outcome = outcome
        self.result = result
        self.handlers = handlers
        self.isRegistered = isRegistered
        progress = Dictionary(uniqueKeysWithValues: handlers.map { ($0.token, .waiting) })
    }

    /// Lets the handlers of `tokens` see this outcome first. A token of another kind of outcome has nothing to
    /// do here and is not waited for.
    ///
    /// Throws ``FluxError/waitCycle(outcome:)`` if one of them waits for the caller,
    /// ``FluxError/unknownToken(outcome:)`` if one is not registered, or the error of the handler waited for. The
    /// dispatch throws a cycle or an unknown token even if the handler swallows it.
    public func waitFor(_ tokens: [DispatchToken]) throws {
        for token in tokens {
            guard isRegistered(token) else { throw remembered(FluxError.unknownToken(outcome: outcome)) }
            switch progress[token] {
            case .waiting: try run(token)
            case .running: throw remembered(FluxError.waitCycle(outcome: outcome))
            case .failed(let error): throw error
            case .done, nil: break
            }
        }
    }

    /// Calls all handlers, also those after one that failed; throws the first error.
    func run() throws {
        for handler in handlers {
            guard case .waiting = progress[handler.token], isRegistered(handler.token) else { continue }
            do { try run(handler.token) } catch { _ = remembered(error) }
        }
        if let firstError { throw firstError }
    }

    private func run(_ token: DispatchToken) throws {
        guard let handler = handlers.first(where: { $0.token == token }) else { return }
        progress[token] = .running
        do {
            try handler.handle(result, self)
            progress[token] = .done
        } catch {
            progress[token] = .failed(error)
            throw error
        }
    }

    private func remembered(_ error: any Error) -> any Error {
        firstError = firstError ?? error
        return error
    }
}

/// One registered handler of one kind of outcome.
struct DispatchHandler: Sendable {
    let token: DispatchToken
    let outcome: ObjectIdentifier
    let handle: @Sendable (_ result: any Sendable, DispatchTurn) throws -> Void
}
