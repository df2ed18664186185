import BusJSON

/// Draws what `top` shows: turns a model into lines for a terminal of a given size. It uses neither a terminal nor a clock.
package struct TopScreen {
    package struct Size: Equatable, Sendable {
        package var columns: Int
        package var rows: Int

        package init(columns: Int, rows: Int) {
            self.columns = columns
            self.rows = rows
        }
    }

    private let address: String
    private let style: Style
    private let isUTF8: Bool
    private let users: UserNames

    package init(address: String, style: Style, isUTF8: Bool, users: UserNames) {
        self.address = address
        self.style = style
        self.isUTF8 = isUTF8
        self.users = users
    }

    /// Returns exactly as many lines as the terminal has, none wider than it.
    package func render(_ model: TopModel?, _ view: TopView, size: Size) -> [String] {
        var lines = [title(model, view, size.columns)]
        if view.showsHelp {
            lines += Self.help.map { ScreenLine($0) }
        } else if let model {
            // The list always gets up to five rows. Where there is room, the last line shows the keys.
            let footer = size.rows >= 14 ? 1 : 0
            let list = min(5, size.rows - 1)
            lines += overview(model, view, width: size.columns, height: size.rows - 1 - list - footer)
            lines.append(tabs(view))
            lines += table(
                model, view, width: size.columns, height: max(0, size.rows - lines.count - footer))
            while footer > 0, lines.count < size.rows - 1 { lines.append(ScreenLine()) }
            if footer > 0 { lines.append(ScreenLine(Self.keys, .faint)) }
        } else {
            lines.append(ScreenLine("Waiting for the bus …", .faint))
        }
        let all =
            lines.prefix(size.rows) + Array(repeating: ScreenLine(), count: max(0, size.rows - lines.count))
        return all.map { $0.text(width: size.columns, style: style, isUTF8: isUTF8) }
    }

    /// The lines of one sample for printing, with all lists one below the other; 200 columns wide if `width` is nil.
    package func page(_ model: TopModel, width: Int?) -> [String] {
        let width = width ?? 200
        var view = TopView()
        var lines = [title(model, nil, width)]
        lines += overview(model, view, width: width, height: .max)
        for section in TopView.Section.allCases {
            view.section = section
            lines += [ScreenLine(), ScreenLine(section.name, .heading)]
            lines += table(model, view, width: width, height: 21)
        }
        return lines.map { $0.text(width: width, style: style, isUTF8: isUTF8) }
    }

    // MARK: - Above the list

    /// The bus and its uptime. On a screen, the right side shows trouble, a pause or the interval.
    private func title(_ model: TopModel?, _ view: TopView?, _ width: Int) -> ScreenLine {
        let version = (model?.sample.stats["version"]?.string).map { " " + ScreenText.safe($0) } ?? ""
        let uptime = (model?.sample.number("uptime")).map { "  up " + Quantity.time($0.rounded(.down)) } ?? ""
        let left = "fluxbus\(version)  \(ScreenText.safe(address))\(uptime)"
        guard let view else { return ScreenLine(left, .heading) }
        let (right, role): (String, Style.Role) =
            if let trouble = view.trouble {
                (ScreenText.safe(trouble), .failure)
            } else if view.isPaused {
                ("paused", .note)
            } else {
                ("every " + Quantity.time(view.interval), .faint)
            }
        let room = width - ScreenText.columns(of: right) - 2
        guard room > 0 else { return ScreenLine(right, role) }
        var line = ScreenLine(ScreenText.cut(left, toColumns: room), .heading)
        line.pad(to: room + 2)
        line.add(right, role)
        return line
    }

    /// The blocks that fit, in the order in which they are read. The more important ones get room first.
    private func overview(_ model: TopModel, _ view: TopView, width: Int, height: Int) -> [ScreenLine] {
        var blocks: [(rank: Int, lines: [ScreenLine])] = [
            (3, flow(counts(model), width)), (0, flow(rates(model), width)),
            (4, history(view, width)), (1, latencies(model, width)), (2, flow(sizes(model), width)),
        ]
        var room = height
        for place in blocks.indices.sorted(by: { blocks[$0].rank < blocks[$1].rank }) {
            // Some of the rates are better than none.
            if blocks[place].rank == 0 {
                blocks[place].lines = Array(blocks[place].lines.prefix(max(0, room)))
            }
            if blocks[place].lines.count > room { blocks[place].lines = [] }
            room -= blocks[place].lines.count
        }
        return blocks.flatMap(\.lines)
    }

    private typealias Item = (label: String, value: String)

    /// Labels with their values, side by side, on as many lines as they need.
    private func flow(_ items: [Item], _ width: Int) -> [ScreenLine] {
        var lines: [ScreenLine] = []
        for item in items {
            let columns = ScreenText.columns(of: item.label + item.value) + 1
            if let last = lines.last, last.columns + 3 + columns <= width {
                lines[lines.count - 1].add("   ")
            } else {
                lines.append(ScreenLine())
            }
            lines[lines.count - 1].add(item.label + " ", .faint)
            lines[lines.count - 1].add(item.value)
        }
        return lines
    }

    private func rates(_ model: TopModel) -> [Item] {
        func perSecond(_ rate: Double?, _ text: (Double) -> String = Quantity.count) -> String {
            rate.map { text($0) + "/s" } ?? "–"
        }
        return [
            ("commits", perSecond(model.commitRate)),
            ("dispatches", perSecond(model.rate("totals", "dispatches"))),
            ("events", perSecond(model.rate("totals", "events"))),
            ("in", perSecond(model.rate("totals", "bytesIn"), Quantity.bytes)),
            ("out", perSecond(model.rate("totals", "bytesOut"), Quantity.bytes)),
            ("errors", perSecond(model.errorRate)),
        ]
    }

    private func counts(_ model: TopModel) -> [Item] {
        ["revision", "stores", "types", "connections", "subscriptions", "timers"].compactMap { name in
            model.sample.number(name).map { (name, name == "revision" ? "\(Int($0))" : Quantity.count($0)) }
        }
    }

    private func sizes(_ model: TopModel) -> [Item] {
        let sample = model.sample
        var items: [Item] = []
        func add(_ label: String, _ value: Double?) {
            if let value { items.append((label, Quantity.bytes(value))) }
        }
        add("resident", sample.number("residentMemory"))
        add("states", sample.number("memory", "states"))
        add("outboxes", sample.number("memory", "outboxes"))
        add("log", sample.number("log", "bytes"))
        if let growth = model.rate("log", "bytes") {
            items.append(("growth", Quantity.bytes(growth) + "/s"))
        }
        if let sync = sample.stats["log"]?["sync"]?.string { items.append(("sync", ScreenText.safe(sync))) }
        return items
    }

    /// How long each kind of work took since the previous sample, one column a kind.
    private func latencies(_ model: TopModel, _ width: Int) -> [ScreenLine] {
        let column = width >= 65 ? 12 : 9
        let rank = ["turn", "commit", "fsync", "reply", "logWrite"]
        let fitting = rank.prefix(max(0, (width - 4) / column))
        let shown = model.latencies.filter { fitting.contains($0.name) }
        guard !shown.isEmpty else { return [] }
        func line(_ title: String, _ role: Style.Role, _ text: (TopModel.Latency) -> String) -> ScreenLine {
            var line = ScreenLine(title, .faint)
            for (place, latency) in shown.enumerated() {
                let text = text(latency)
                line.pad(to: 4 + (place + 1) * column - ScreenText.columns(of: text))
                line.add(text, role)
            }
            return line
        }
        func time(_ value: Double?) -> String { value.map(Quantity.time) ?? "–" }
        return [
            line("", .heading) { $0.name == "logWrite" ? "log write" : $0.name },
            line("p50", .plain) { time($0.reading.quantile(0.5)) },
            line("p99", .plain) { time($0.reading.quantile(0.99)) },
            line("max", .plain) { time($0.reading.quantile(1)) },
        ]
    }

    /// Commits a second over time, as bars.
    private func history(_ view: TopView, _ width: Int) -> [ScreenLine] {
        let levels = Array(isUTF8 ? "▁▂▃▄▅▆▇█" : "_.-:=+*#")
        guard let all = view.history.max() else { return [] }
        let label = "max \(Quantity.count(all))/s "
        let shown = view.history.suffix(max(0, width - label.count - 1))
        guard let most = shown.max() else { return [] }
        let bars = shown.map { rate in
            levels[
                most > 0
                    ? min(levels.count - 1, Int(max(0, rate) / most * Double(levels.count - 1) + 0.5)) : 0]
        }
        var line = ScreenLine("max \(Quantity.count(most))/s ", .faint)
        line.add(String(bars), .new)
        return [line]
    }

    // MARK: - The list

    private func tabs(_ view: TopView) -> ScreenLine {
        var line = ScreenLine()
        for section in TopView.Section.allCases {
            line.add("\(section.rawValue) ", .faint)
            line.add(section.name, section == view.section ? .heading : .faint)
            // Without colours, the bracket marks the current section.
            line.add(section == view.section ? " <  " : "   ", .faint)
        }
        return line
    }

    private func table(_ model: TopModel, _ view: TopView, width: Int, height: Int) -> [ScreenLine] {
        guard height > 0 else { return [] }
        switch view.section {
        case .types: return activities(model.types, view, width, height, hasAction: false)
        case .actions: return activities(model.actions, view, width, height, hasAction: true)
        case .clients: return clients(model.clients, view, width, height)
        }
    }

    private func activities(
        _ rows: [TopModel.Activity], _ view: TopView, _ width: Int, _ height: Int, hasAction: Bool
    ) -> [ScreenLine] {
        typealias Column = TopColumn<TopModel.Activity>
        var columns: [Column] = [
            .text("TYPE", rank: 0, \.type) { ($0.type, $0.action ?? "") < ($1.type, $1.action ?? "") }
        ]
        if hasAction {
            columns.append(
                .text("ACTION", rank: 1, { $0.action ?? "" }) { ($0.action ?? "") < ($1.action ?? "") })
        }
        columns.append(.number("COMMITS/S", rank: 2, \.rate))
        columns.append(.number("TOTAL", rank: 3, { $0.total }))
        let order = ["COMMITS/S", "TOTAL", "TYPE"] + (hasAction ? ["ACTION"] : [])
        let sorted = rows.sorted { ($1.total, $0.type) < ($0.total, $1.type) }
        return TopTable(columns, order: order, sort: view.sort, rows: sorted).lines(
            width: width, height: height)
    }

    private func clients(
        _ rows: [TopModel.Client], _ view: TopView, _ width: Int, _ height: Int
    ) -> [ScreenLine] {
        typealias Column = TopColumn<TopModel.Client>
        let columns: [Column] = [
            .text("ID", rank: 0, { $0.json["id"]?.encoded ?? "" }) { $0.number("id") < $1.number("id") },
            .text("WHO", rank: 1, { $0.json["by"].map(users.identity) ?? "" }),
            .text("NAME", rank: 6, { $0.json["client"]?.string ?? "" }),
            .number("SENT/S", rank: 2, \.dispatched),
            .number("RECV/S", rank: 3, \.delivered),
            .number("LAG", rank: 4, { $0.number("lagging") }),
            .number("WAITING", rank: 5, { $0.number("waiting") }, Quantity.bytes),
            .number("IDLE", rank: 7, { $0.number("idle") }, Quantity.time),
            .text(
                "WATCHES", rank: 8,
                { client in
                    (client.json["watches"]?.array ?? []).compactMap(\.string).joined(separator: " ")
                }),
        ]
        let order = ["SENT/S", "RECV/S", "LAG", "WAITING", "IDLE", "ID"]
        return TopTable(columns, order: order, sort: view.sort, rows: rows).lines(
            width: width, height: height)
    }

    // MARK: - Words

    private static let keys = "q quit  space pause  s sort  1 types 2 actions 3 clients  + - interval  ? help"

    private static let help = [
        "",
        "q  quit                1  types",
        "   space: pause        2  actions",
        "s  sort by the next    3  clients",
        "   column              ?  this help",
        "+  update less often   -  more often",
        "",
        "Rates and latencies are those between",
        "two updates; – means unknown.",
    ]
}
