import BusJSON

/// What an import did, or would do.
struct ImportTally {
    /// Stores at the file's base, and how many of them the bus had.
    var stores = 0
    var present = 0
    /// Commits of the file, and what they hold.
    private(set) var commits = 0
    private(set) var actions = 0
    private(set) var created = 0
    private(set) var dropped = 0
    private(set) var reverted = 0
    private(set) var reloads = 0
    /// Requests sent, those that had been committed before, and those that the bus refused.
    var sent = 0
    var repeated = 0
    var refused = 0

    mutating func count(_ commit: RecordedCommit) {
        commits += 1
        actions += commit.actions.count
        created += commit.created.count
        dropped += commit.dropped.count
        if commit.reverted != nil { reverted += 1 }
        if commit.redefines { reloads += 1 }
    }

    func show(in console: Console, isDryRun: Bool) throws {
        guard console.form == .text else {
            var object: JSONObject = [
                "stores": .int(stores), "present": .int(present), "commits": .int(commits),
                "actions": .int(actions), "created": .int(created), "dropped": .int(dropped),
                "reverted": .int(reverted), "reloads": .int(reloads),
            ]
            if isDryRun {
                object["dryRun"] = true
            } else {
                object["sent"] = .int(sent)
                object["repeated"] = .int(repeated)
                object["refused"] = .int(refused)
            }
            return try console.line(.object(object))
        }
        let count = DispatchCommand.count
        let known = present > 0 ? " (\(present) there already)" : ""
        var parts = [
            "\(count(stores, "store"))\(known)", count(commits, "commit"), count(actions, "action"),
        ]
        if created > 0 { parts.append("\(created) created") }
        if dropped > 0 { parts.append("\(dropped) dropped") }
        if reverted > 0 { parts.append("\(reverted) reverted") }
        if reloads > 0 { parts.append("\(count(reloads, "reload")) left out") }
        if repeated > 0 { parts.append("\(repeated) committed before") }
        if refused > 0 { parts.append("\(refused) refused") }
        try console.line((isDryRun ? "would import " : "imported ") + parts.joined(separator: ", "))
    }
}
