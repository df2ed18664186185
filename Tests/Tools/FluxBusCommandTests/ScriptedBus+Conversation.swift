import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

extension ScriptedBus {
    /// What its queue does: answers connections, one after the other.
    final class Conversation: Sendable {
        let lines = Mutex<[String]>([])
        private let script: @Sendable (String) -> [String]?

        init(script: @escaping @Sendable (String) -> [String]?) { self.script = script }

        /// Returns when the listener is shut down.
        func serve(_ listener: Int32) {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                converse(client)
                close(client)
            }
        }

        private func converse(_ client: Int32) {
            var pending: [UInt8] = []
            var space = [UInt8](repeating: 0, count: 65536)
            while true {
                while let end = pending.firstIndex(of: 0x0a) {
                    let line = String(decoding: pending[..<end], as: UTF8.self)
                    pending.removeSubrange(...end)
                    lines.withLock { $0.append(line) }
                    guard let answers = script(line) else { return }
                    for answer in answers {
                        guard answer != ScriptedBus.hangUp, send(answer + "\n", to: client) else { return }
                    }
                }
                let count = read(client, &space, space.count)
                guard count > 0 else { return }
                pending += space[..<count]
            }
        }

        private func send(_ text: String, to client: Int32) -> Bool {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
