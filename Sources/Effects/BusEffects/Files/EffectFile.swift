import BusSource

/// A file with a secret, or with certificates, of which an effect's file says where it is.
package struct EffectFile: Sendable, Equatable {
    /// A whole path, or the name of a credential of the service's unit.
    package let path: String
    /// What stands before the secret: `Bearer `.
    package let prefix: String

    package init(_ object: LocatedObject, of owner: String, besides others: [String]) throws(SourceError) {
        try object.refuseMembers(besides: ["file"] + others, of: owner)
        let source = try object.required("file", of: owner)
        let prefix =
            try object["prefix"].map { source throws(SourceError) in try source.string("prefix") } ?? ""
        try self.init(source.string("file"), source, prefix: prefix)
    }

    package init(_ path: String, _ source: LocatedValue, prefix: String = "") throws(SourceError) {
        guard !path.isEmpty, path.hasPrefix("/") || !path.contains("/"), path != "..", path != ".",
            HTTPAddress.isHeader(path)
        else {
            throw source.failure(
                "`\(path)` is neither a whole path nor the name of a credential; write one that begins with /, or one of LoadCredential=, such as webhook-token."
            )
        }
        guard HTTPAddress.isHeader(prefix) else {
            throw source.failure("A header is one line without control characters; write one.")
        }
        (self.path, self.prefix) = (path, prefix)
    }

    /// Where it is, with the credentials of the unit in this directory. A refusal is a clause.
    package func location(credentials: String?) throws(EffectRefusal) -> String {
        if path.hasPrefix("/") { return path }
        guard let credentials else {
            throw EffectRefusal(
                "the unit has no credential \(path); give it one by LoadCredential=\(path):PATH")
        }
        return "\(credentials)/\(path)"
    }
}
