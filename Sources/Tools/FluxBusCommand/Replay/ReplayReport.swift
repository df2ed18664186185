import BusJSON

/// Shows the results of a replay: the first deviations, and a summary.
struct ReplayReport {
    private let console: Console
    /// How many deviations are still to be shown; nil for all.
    private var remaining: Int?
    private var hidden = 0
    private var printer: DifferencePrinter

    init(console: Console, limit: Int?) {
        self.console = console
        remaining = limit
        printer = DifferencePrinter(console: console, indent: "  ")
    }

    mutating func show(_ deviation: ReplayComparison.Deviation, base: Int) throws {
        if remaining == 0 {
            hidden += 1
            return
        }
        if let left = remaining { remaining = left - 1 }
        guard console.form == .text else { return try console.line(object(deviation, base: base)) }
        try console.line(heading(deviation, base: base))
        for (refusal, words) in [
            (deviation.refusalBefore, "refused before, "), (deviation.refusal, "refused, "),
        ] {
            guard let refusal else { continue }
            let text = ScreenText.safe("\(refusal.code): \(refusal.message)")
            try console.line("  " + console.style.paint(words, .old) + text)
        }
        for store in deviation.stores { try printer.show(store.differences, of: store.address) }
    }

    private func heading(_ deviation: ReplayComparison.Deviation, base: Int) -> String {
        guard let commit = deviation.commit else {
            return console.style.paint("revision \(base)", .heading) + "  at the beginning"
        }
        return console.style.paint("revision \(commit.revision)", .heading) + "  "
            + console.style.paint(CommitText.time(of: commit.line), .faint) + "  "
            + ScreenText.safe(CommitText.summary(of: commit.line))
    }

    private func object(_ deviation: ReplayComparison.Deviation, base: Int) -> JSON {
        var object: JSONObject = [:]
        if let commit = deviation.commit {
            for name in ["revision", "time", "by", "actions"] { object[name] = commit.line[name] }
        } else {
            object["revision"] = .int(base)
        }
        for (refusal, name) in [(deviation.refusal, "refused"), (deviation.refusalBefore, "refusedBefore")] {
            guard let refusal else { continue }
            object[name] = ["code": .string(refusal.code), "message": .string(refusal.message)]
        }
        object["differences"] = .array(
            deviation.stores.flatMap { store in
                store.differences.map { DifferencePrinter.object($0, of: store.address) }
            })
        return .object(object)
    }

    func summarize(_ comparison: ReplayComparison) throws {
        let stores = comparison.differingStores
        guard console.form == .text else {
            return try console.line([
                "commits": .int(comparison.commits), "different": .int(comparison.deviating),
                "refused": .int(comparison.refused), "stores": .array(stores.map(JSON.string)),
            ])
        }
        let commits = DispatchCommand.count(comparison.commits, "commit")
        guard !comparison.isEqual else {
            return try console.line("\(commits) replayed: no differences")
        }
        if hidden > 0 { try console.line("… and \(hidden) more; --limit shows them") }
        let shown = stores.prefix(5).joined(separator: ", ") + (stores.count > 5 ? ", …" : "")
        let end =
            stores.isEmpty
            ? "all stores agree at the end"
            : "\(DispatchCommand.count(stores.count, "store")) differ\(stores.count == 1 ? "s" : "") at the end: \(shown)"
        try console.line(
            "\(commits) replayed: \(comparison.deviating) would have had another result, "
                + "\(comparison.refused) of them refused; \(end)")
    }
}
