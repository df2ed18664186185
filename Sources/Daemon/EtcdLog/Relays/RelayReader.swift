import BusCluster
import Dispatch
import Synchronization

/// Another member, as one sees it that reads the shared log through it.
package protocol RelaySource: AnyObject {
    /// What stands behind a place. Waits for it, and after a while brings a part without anything.
    func part(behind place: Int) throws(OrderedLogFailure) -> RelayedPart
}

/// A member through which the shared log may be read.
package struct Relay: Sendable {
    /// Its address, for messages.
    package let address: String
    /// Connects to it.
    package let connect: @Sendable () throws(OrderedLogFailure) -> any RelaySource

    package init(
        address: String, connect: @escaping @Sendable () throws(OrderedLogFailure) -> any RelaySource
    ) {
        self.address = address
        self.connect = connect
    }
}

/// Asks a relay for one part after another, in the background, until a request fails or `end` is called. `end` does not wait: a
/// request that is under way completes, and its answer is dropped.
final class RelayReader: Sendable {
    private struct Contents {
        /// Where the next part begins that is wanted.
        var wanted: Int?
        var answer: Result<RelayedPart, OrderedLogFailure>?
        var isOver = false
    }

    private let contents = Mutex(Contents())
    private let questions = DispatchSemaphore(value: 0)

    /// - Parameter wake: Called when there is an answer to take.
    init(_ relay: Relay, wake: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async { [self] in
            do throws(OrderedLogFailure) {
                let source = try relay.connect()
                while let place = next() {
                    put(.success(try source.part(behind: place)))
                    wake()
                }
            } catch {
                put(.failure(error))
                wake()
            }
        }
    }

    /// Asks for what stands behind a place. One question at a time.
    func ask(behind place: Int) {
        contents.withLock { $0.wanted = place }
        questions.signal()
    }

    /// The answer, once.
    func take() -> Result<RelayedPart, OrderedLogFailure>? {
        contents.withLock { contents in
            defer { contents.answer = nil }
            return contents.answer
        }
    }

    func end() {
        contents.withLock { $0.isOver = true }
        questions.signal()
    }

    private func next() -> Int? {
        questions.wait()
        return contents.withLock { contents in
            defer { contents.wanted = nil }
            return contents.isOver ? nil : contents.wanted
        }
    }

    private func put(_ answer: Result<RelayedPart, OrderedLogFailure>) {
        contents.withLock { $0.answer = answer }
    }
}
