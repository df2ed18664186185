import BusJSON
import BusLogic
import BusProtocol

/// Definitions as a reply.
extension StateMachine {
    /// Writes `,"types":[…]`: the definition of one type, or of all; false as soon as there is no room for more.
    package func appendTypes(
        _ wanted: TypeEntry?, seenBy grants: Grants?, to writer: ByteWriter, room: Int
    ) -> Bool {
        writer.append(",\"types\":[")
        let listed = wanted.map { [$0] } ?? typesInOrder.filter { grants?.knows(type: $0.name) ?? true }
        for (place, entry) in listed.enumerated() {
            if place > 0 { writer.append(UInt8(ascii: ",")) }
            entry.type.appendDefinition(to: writer)
            if writer.count > room { return false }
        }
        writer.append("]")
        return writer.count <= room
    }
}
