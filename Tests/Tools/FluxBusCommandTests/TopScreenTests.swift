import BusJSON
import FluxBusCommand
import TestSupport
import Testing

@Suite("The screen of top")
struct TopScreenTests {
    private let model = TopModel(TopSamples.later, since: TopSamples.earlier)

    private func screen(isUTF8: Bool = true, coloured: Bool = false) -> TopScreen {
        TopScreen(
            address: "unix:/run/fluxbus/bus.sock", style: Style(isColoured: coloured), isUTF8: isUTF8,
            users: UserNames { $0 == 1000 ? "ada" : nil })
    }

    private func view(_ section: TopView.Section = .actions) -> TopView {
        var view = TopView()
        view.section = section
        view.history = [0, 50, 100]
        return view
    }

    @Test func eightyByTwentyFourHasEverything() {
        let lines = screen().render(model, view(), size: .init(columns: 80, rows: 24))
        #expect(lines.count == 24)
        #expect(
            lines[0] == "fluxbus 0.1.0  unix:/run/fluxbus/bus.sock  up 1m 2s                    every 1 s")
        #expect(lines[1] == "revision 300   stores 3   types 2   connections 2   subscriptions 1   timers 0")
        #expect(
            lines[2] == "commits 100/s   dispatches 100/s   events 200/s   in 100 KiB/s   out 0 B/s")
        #expect(lines[3] == "errors 1/s")
        #expect(lines[4] == "max 100/s ▁▅█")
        #expect(
            lines[5...8].map {
                $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
            } == [
                "turn commit log write fsync reply", "p50 1 ms – – – –", "p99 2 ms – – – –",
                "max 2 ms – – – –",
            ])
        #expect(
            lines[9].hasPrefix("resident 33 MiB   states 2 KiB   outboxes 0 B   log 1 MiB   growth 1 KiB/s"))
        #expect(lines[11] == "1 types   2 actions <  3 clients   ")
        #expect(
            lines[12...15].map { $0.split(separator: " ").joined(separator: " ") } == [
                "TYPE ACTION COMMITS/S▼ TOTAL", "door rang 50 120", "counter increment 5 60",
                "counter reset 0 1",
            ])
        #expect(lines[23].hasPrefix("q quit") && lines[22].isEmpty)
    }

    @Test func fortyByTenKeepsTheRatesAndTheList() {
        let lines = screen().render(model, view(), size: .init(columns: 40, rows: 10))
        #expect(lines.count == 10 && lines.allSatisfy { ScreenText.columns(of: $0) <= 40 })
        #expect(lines[0].hasPrefix("fluxbus 0.1.0") && lines[0].hasSuffix("every 1 s"))
        #expect(lines[1].hasPrefix("commits 100/s"))
        #expect(lines.contains { $0.hasPrefix("TYPE") } && lines.contains { $0.hasPrefix("door") })
    }

    @Test func sectionsAndColumnsSort() {
        func first(_ view: TopView) -> String {
            let lines = screen().render(model, view, size: .init(columns: 100, rows: 30))
            let heading = lines.firstIndex { $0.hasPrefix("TYPE") || $0.hasPrefix("ID") } ?? 0
            return lines[heading + 1]
        }
        #expect(first(view(.types)).hasPrefix("door"))
        var byName = view(.types)
        byName.sort = 2
        #expect(first(byName).hasPrefix("counter"))
        var clients = view(.clients)
        #expect(first(clients).hasPrefix("2   ada (1000) pid 4002"))
        clients.sort = 1
        #expect(first(clients).hasPrefix("1   ada (1000) pid 4001"))
        // However often it was pressed.
        clients.sort = 7 + 6 * 1000
        #expect(first(clients).hasPrefix("1   "))
    }

    @Test func whatIsSpecialIsSaid() {
        let size = TopScreen.Size(columns: 60, rows: 12)
        #expect(screen().render(nil, view(), size: size)[1] == "Waiting for the bus …")
        var paused = view()
        paused.isPaused = true
        #expect(screen().render(model, paused, size: size)[0].hasSuffix("  paused"))
        paused.trouble = "connection lost, trying again"
        #expect(screen().render(model, paused, size: size)[0].hasSuffix("  connection lost, trying again"))
        var help = view()
        help.showsHelp = true
        #expect(screen().render(model, help, size: size).contains { $0.contains("pause") })
    }

    @Test func withoutUTF8EverythingIsASCII() {
        for section in TopView.Section.allCases {
            let lines = screen(isUTF8: false).render(model, view(section), size: .init(columns: 80, rows: 24))
            #expect(lines.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } })
            #expect(lines[4] == "max 100/s _=#")
        }
        #expect(
            TopCommand.isUTF8(["LANG": "de_DE.UTF-8"])
                && TopCommand.isUTF8(["LC_ALL": "C.utf8", "LANG": "C"]))
        #expect(!TopCommand.isUTF8(["LANG": "C.UTF-8", "LC_CTYPE": "C"]) && !TopCommand.isUTF8([:]))
        #expect(TopCommand.isUTF8(["LC_ALL": "", "LANG": "C.UTF-8"]))
    }

    @Test func coloursOnlyWhereTheyAreWanted() {
        let size = TopScreen.Size(columns: 80, rows: 24)
        #expect(screen().render(model, view(), size: size).allSatisfy { !$0.contains("\u{1b}") })
        #expect(
            screen(coloured: true).render(model, view(), size: size).contains { $0.contains("\u{1b}[1m") })
    }

    /// Names that would move the cursor, turn the direction of writing, or be wider than they seem.
    private static let hostile = [
        "\u{1b}[2J\u{1b}[H", "a\nb\rc\td", "\u{202e}cba", "漢字漢字漢字漢字漢字漢字漢字", "e\u{301}\u{301}\u{301}", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦",
        "\u{9b}31m", String(repeating: "x", count: 3000), "", "\u{0}", "\u{feff}\u{200b}",
    ]

    @Test(arguments: [UInt64(1), 2, 3]) func nothingLeavesItsLineWhateverTheSizeAndTheNames(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func name() -> String { Self.hostile.randomElement(using: &random)! }
        for _ in 0..<60 {
            var stats = TopSamples.later.stats
            stats["version"] = .string(name())
            var actions: JSONObject = [:]
            for _ in 0..<12 {
                actions[name()] = .object([name(): .int(Int.random(in: 0...1_000_000_000, using: &random))])
            }
            stats["actions"] = .object(actions)
            let clients: [JSON] = (0..<8).map { id in
                var client = TopSamples.client(id, dispatched: id, delivered: id, name: name()).object ?? [:]
                client["by"] = ["token": .string(name()), "address": .string(name())]
                client["watches"] = [.string(name()), .string(name())]
                return .object(client)
            }
            let sample = TopSample(time: 12, stats: stats, clients: clients)
            let model = TopModel(sample, since: random.oneIn(2) ? TopSamples.earlier : nil)
            for section in TopView.Section.allCases {
                var view = view(section)
                view.sort = Int.random(in: 0...20, using: &random)
                view.trouble = random.oneIn(3) ? name() : nil
                view.showsHelp = random.oneIn(9)
                let size = TopScreen.Size(
                    columns: Int.random(in: 1...220, using: &random),
                    rows: Int.random(in: 1...60, using: &random))
                let lines = screen(isUTF8: random.oneIn(2)).render(model, view, size: size)
                #expect(lines.count == size.rows, "seed \(seed)")
                for line in lines {
                    #expect(ScreenText.columns(of: line) <= size.columns, "seed \(seed): \(line)")
                    #expect(line == ScreenText.safe(line), "seed \(seed): \(line.debugDescription)")
                }
            }
        }
    }

    @Test func onPaperAllSectionsFollowEachOther() {
        let lines = screen().page(model, width: nil)
        #expect(lines.filter { ["types", "actions", "clients"].contains($0) }.count == 3)
        #expect(
            lines.contains { $0.contains("ada (1000) pid 4002") } && lines.contains { $0.hasPrefix("p99") })
    }

    @Test func columnsCountWhatTerminalsShow() {
        #expect(ScreenText.columns(of: "abc") == 3 && ScreenText.columns(of: "漢字") == 4)
        #expect(ScreenText.columns(of: "e\u{301}") == 1 && ScreenText.columns(of: "µ–▼") == 3)
        #expect(ScreenText.cut("漢字漢字", toColumns: 5) == "漢字…")
        #expect(ScreenText.cut("漢字", toColumns: 4) == "漢字" && ScreenText.cut("漢字", toColumns: 0).isEmpty)
    }
}
