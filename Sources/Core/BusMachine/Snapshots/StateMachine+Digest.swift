import BusJSON

extension StateMachine {
    /// A digest that differs if the states of two buses do: every store's address, its state byte for byte, its own
    /// revision, and whether it is ephemeral. Creators, and the numbers of identities, are not part of it.
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
                let digest = DeduplicationTable.digest(of: line.bytes)
                sum.append(raw: StateTransfer.text(of: digest))
                if sum.count > 1 << 16 {
                    let so = DeduplicationTable.digest(of: sum.bytes)
                    sum.clear()
                    sum.append(raw: StateTransfer.text(of: so))
                }
            }
        }
        return StateTransfer.text(of: DeduplicationTable.digest(of: sum.bytes))
    }
}
