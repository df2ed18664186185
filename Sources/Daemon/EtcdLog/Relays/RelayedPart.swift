import BusCluster
import BusJSON

/// A part of the shared log as one member passes it on to another: entries in their order, and how far they reach.
package struct RelayedPart: Equatable, Sendable {
    /// The log that it is of.
    package let cluster: String
    /// Identifies the relay's current reading of the log. Parts of different readings must not be combined.
    package let reading: Int
    /// The entries behind the place that was asked for, encoded.
    package let entries: [UInt8]
    /// What barriers hold that stand at these places.
    package let barriers: [String]
    /// The part, with those before it, has all entries up to this place.
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
