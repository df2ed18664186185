import BusCluster
import BusJSON

/// A part of the shared log as one member passes it on to another: entries in their order, and how far they reach.
package struct RelayedPart: Equatable, Sendable {
    /// The log that it is of.
    package let cluster: String
    /// Changes when the member that passes it on has begun to read anew: the parts of two readings don't go together.
    package let reading: Int
    /// The entries behind the place that was asked for, encoded.
    package let entries: [UInt8]
    /// What barriers hold that stand at these places.
    package let barriers: [String]
    /// Up to here everything is told.
    package let place: Int

    package init(cluster: String, reading: Int, entries: [UInt8], barriers: [String], place: Int) {
        self.cluster = cluster
        self.reading = reading
        self.entries = entries
        self.barriers = barriers
        self.place = place
    }

    /// The members of a reply that tells it, each with a comma before it.
    package var members: [UInt8] {
        let writer = ByteWriter()
        writer.append(",\"place\":", decimal: place)
        writer.append(",\"reading\":", decimal: reading)
        writer.append(
            ",\"log\":",
            jsonObject: ["cluster": .string(cluster), "barriers": .array(barriers.map(JSON.string))])
        writer.append(",\"data\":\"")
        entries.withUnsafeBytes { Base64.append($0, to: writer) }
        writer.append(UInt8(ascii: "\""))
        return Array(writer.bytes)
    }

    /// Reads a reply; nil where no member of ours can have sent it.
    package init?(_ reply: JSONObject) {
        guard let place = reply["place"]?.int, place >= 0, let reading = reply["reading"]?.int,
            let cluster = reply["log"]?["cluster"]?.string,
            let barriers = reply["log"]?["barriers"]?.array?.compactMap(\.string),
            let entries = reply["data"]?.string.flatMap(Base64.decode)
        else { return nil }
        self.init(
            cluster: cluster, reading: reading, entries: entries, barriers: barriers, place: place)
    }
}
