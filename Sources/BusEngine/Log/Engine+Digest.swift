import BusJSON

extension Engine {
    /// Tells the states of two buses apart: every store's address, its state byte for byte, its own revision, and whether it
    /// goes with a connection. Who created it, and how identities are numbered, is no part of it.
    package var stateDigest: String {
        let line = ByteWriter()
        let sum = ByteWriter()
        for entry in liveTypes.sorted(by: { UTF8Order.precedes($0.name, $1.name) }) {
            for index in entry.inOrder {
                let record = stores.pointer(index)
                line.clear()
                line.append(quoted: "\(entry.name)/\(record.pointee.name)")
                line.append(decimal: record.pointee.revision)
                line.append(record.pointee.owner >= 0 ? "e" : "p")
                line.append(jsonObject: record.pointee.state)
                let digest = KeyMemory.digest(of: line.bytes)
                sum.append(raw: HandOver.text(of: digest))
                if sum.count > 1 << 16 {
                    let so = KeyMemory.digest(of: sum.bytes)
                    sum.clear()
                    sum.append(raw: HandOver.text(of: so))
                }
            }
        }
        return HandOver.text(of: KeyMemory.digest(of: sum.bytes))
    }
}
