/// What a member tells the others beside the log: how far it has a durable copy, and where they get one.
package struct MemberReport: Equatable, Sendable {
    /// The facts that stay the same as long as the member runs.
    package struct About: Equatable, Sendable {
        /// The version of its program.
        package let version: String
        /// Where others get its snapshot; empty: nowhere.
        package let address: String
        /// Proves to this member that another member asks. Empty before version 0.2.
        package let token: String
        /// The latest rules that it knows.
        package let rules: Int

        package init(
            version: String = "", address: String = "", token: String = "", rules: Int = ClusterLimits.rules
        ) {
            self.version = version
            self.address = address
            self.token = token
            self.rules = rules
        }
    }

    package let stored: Int
    package let revision: Int
    /// Whether it has a bus; else it waits for one, or is about to start it over with what it has had.
    package let hasBegun: Bool
    package let about: About

    /// The longest version and the longest address, in bytes.
    private static let text = 512

    package init(stored: Int, revision: Int, hasBegun: Bool = true, _ about: About = About()) {
        self.stored = stored
        self.revision = revision
        self.hasBegun = hasBegun
        self.about = about
    }

    package var encoded: [UInt8] {
        var writer = CompactWriter()
        writer.add(stored)
        writer.add(revision)
        writer.add(String(about.version.prefix(Self.text / 4)))
        writer.add(String(about.address.prefix(Self.text / 4)))
        writer.add(hasBegun ? 0 : 1)
        writer.add(String(about.token.prefix(Self.text / 4)))
        writer.add(about.rules)
        return writer.bytes
    }

    /// Reads a report; nil if it can't be read.
    package init?(_ bytes: [UInt8]) {
        var reader = CompactReader(bytes)
        // A later version may say more, and an earlier one says less.
        guard let stored = reader.number(), let revision = reader.number(),
            let version = reader.text(most: Self.text), let address = reader.text(most: Self.text)
        else { return nil }
        let hasBegun = reader.number() != 1
        let token = reader.text(most: Self.text) ?? ""
        let rules = reader.number() ?? ClusterLimits.rulesBeforeReports
        self.init(
            stored: stored, revision: revision, hasBegun: hasBegun,
            About(version: version, address: address, token: token, rules: rules))
    }
}
