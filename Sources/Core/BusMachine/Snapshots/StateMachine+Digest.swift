import BusJSON

extension StateMachine {
    /// A digest that differs if the states of two buses do: every store's address, its state byte for byte, its own
    /// revision, and whether it is ephemeral; and every timer and lease. Creators, and the numbers of identities, are not
    /// part of it.
    package var stateDigest: String {
        let line = ByteWriter()
        let sum = ByteWriter()
        for entry in typesInOrder {
            for index in entry.inOrder {
                let record = stores.pointer(index)
                line.clear()
                line.append(quoted: "\(entry.name)/\(record.pointee.name)")
                line.append(decimal: record.pointee.revision)
                line.append(record.pointee.owner >= 0 ? "e" : "p")
                line.append(jsonObject: record.pointee.state)
                Self.add(line, to: sum)
            }
        }
        forEachTimerLine { Self.add($0, to: sum) }
        return StateTransfer.text(of: DeduplicationTable.digest(of: sum.bytes))
    }

    private static func add(_ line: ByteWriter, to sum: ByteWriter) {
        sum.append(raw: StateTransfer.text(of: DeduplicationTable.digest(of: line.bytes)))
        guard sum.count > 1 << 16 else { return }
        let so = DeduplicationTable.digest(of: sum.bytes)
        sum.clear()
        sum.append(raw: StateTransfer.text(of: so))
    }
}
