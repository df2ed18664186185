import BusHooks
import BusJSON
import BusSource
import BusYAML
import Foundation
import TestFiles
import TestServer
import TestSupport
import Testing

/// What files of hooks say, what is said about those that are wrong, and how signatures are read.
@Suite struct HookFileTests {
    private static func load(_ text: String) throws -> Hook {
        var loader = HookLoader()
        let hook = loader.load(try LocatedValue.read(text, file: "hook.yaml"))
        return try #require(hook, "\(loader.errors.lines)")
    }

    private static let table = "Tests/Web/FluxBusWebTests/Hooks/mistakes.txt"

    @Test func everyMistakeIsToldAsTheTableSays() throws {
        let mistakes = try MistakeTable.read(Self.table)
        #expect(mistakes.count >= 30)
        #expect(Set(mistakes.map(\.title)).count == mistakes.count)
        let differences = try MistakeTable.differences(Self.table) { text in
            var loader = HookLoader()
            let hook = loader.load(try LocatedValue.read(text, file: "hook.yaml"))
            #expect(hook == nil && !loader.errors.isEmpty, "\(text)")
            return loader.errors.inOrder.map { "\($0.line):\($0.column): \($0.message)" }
        }
        #expect(differences == [])
    }

    /// The manual has every key, and the schema every word, that a file may have.
    @Test func theManualAndTheSchemaHaveEveryKey() throws {
        let manual = try Repository.text("deploy/man/fluxbus-web.8").replacing("\\-", with: "-")
        let section = try #require(manual.components(separatedBy: ".SH HOOKS\n").last)
        let words =
            HookLoader.keys + HookSignature.keys.filter { $0 != "algorithm" } + ["key", "file", "token"]
        for key in words where key != "summary" {
            #expect(section.contains(".B \(key)") || section.contains(".BR \(key)"), "\(key)")
        }
        let program = Repository.programs.appendingPathComponent("fluxbus").path
        let schema = try JSON(parsing: RunningProgram([program, "schema", "hook"]).wait().output)[
            "properties"]
        #expect(Set(schema?.object?.keys ?? []) == Set(HookLoader.keys))
        let check = schema?["check"]?["properties"]
        #expect(
            Set(check?["signature"]?["properties"]?.object?.keys ?? []) == Set(HookSignature.keys + ["file"]))
        #expect(Set(check?["token"]?["properties"]?.object?.keys ?? []) == ["file", "header", "prefix"])
    }

    @Test func aDirectoryIsReadAsAWhole() throws {
        let directory = TemporaryDirectory()
        let hook = "hook: one\ncheck: { token: { file: s } }\ndispatch: { store: a/b, action: c }\n"
        try directory.write("a.yaml", hook)
        try directory.write("b.yml", hook)
        try directory.write("c.json", "{")
        try directory.write("notes.txt", "nothing of ours")
        var errors: [SourceError] = []
        #expect(Hook.all(in: directory.path, &errors).count == 2)
        #expect(
            errors.count == 2 && errors[0].message.contains("a.yaml too")
                && errors[1].file.hasSuffix("c.json"))
        errors = []
        #expect(Hook.all(in: directory.path + "/none", &errors).isEmpty && errors.count == 1)
    }

    private static func hook(_ signature: String, _ more: String = "action: c") throws -> Hook {
        try load(
            "hook: h\ncheck: { signature: { header: X-S, file: s\(signature) } }\ndispatch: { store: a/b, \(more) }"
        )
    }

    private static func signature(_ text: String) throws -> HookSignature {
        guard case .signature(let signature) = try hook(text).check else {
            throw Sockets.Failure("No signature.")
        }
        return signature
    }

    private static let code = Array(repeating: UInt8(0xa5), count: 32)
    private static let hex = String(repeating: "a5", count: 32)

    @Test func aPlainSignatureIsReadByItsPrefixAndEncoding() throws {
        let plain = HookSignature.Shown(codes: [Self.code], start: [], time: nil)
        let hex = try Self.signature(", prefix: 'sha256='")
        #expect(
            hex.shown(in: "sha256=" + Self.hex) == plain
                && hex.shown(in: "sha256=" + Self.hex.uppercased()) == plain)
        let base64 = try Self.signature(", encoding: base64")
        #expect(base64.shown(in: Data(Self.code).base64EncodedString()) == plain)
        for wrong in [
            "", Self.hex, "SHA256=" + Self.hex, "sha256=" + Self.hex.dropLast(), "sha256=\(Self.hex)0",
            "sha256= " + Self.hex, "sha256=\(Self.hex.dropLast())g", "sha256=" + Self.hex.dropLast(2),
        ] { #expect(hex.shown(in: wrong) == nil, "\(wrong)") }
        for wrong in ["", "pQ==", Self.hex, Data(Self.code).base64EncodedString() + "\n"] {
            #expect(base64.shown(in: wrong) == nil, "\(wrong)")
        }
    }

    @Test func aSignatureWithATimeSignsBoth() throws {
        let stripe = try Self.signature(", form: stripe, tolerance: 10s")
        let shown = stripe.shown(in: "t=1700000000,v1=\(Self.hex), v0=old,v1=\(Self.hex)")
        #expect(
            shown
                == .init(
                    codes: [Self.code, Self.code], start: Array("1700000000.".utf8), time: 1_700_000_000))
        // As it is written, it is signed.
        #expect(stripe.shown(in: "v1=\(Self.hex),t=007")?.start == Array("007.".utf8))
        for wrong in [
            "", "t=1", "v1=\(Self.hex)", "t=1,t=1,v1=\(Self.hex)", "t=,v1=\(Self.hex)", "t=+1,v1=\(Self.hex)",
            "t=1,v1=", "t=1,v1=\(Self.hex)0", "t=1 ,v1=\(Self.hex)", "t=99999999999999999999,v1=\(Self.hex)",
            "t=1,,v1=\(Self.hex)",
            "t=1" + String(repeating: ",v1=\(Self.hex)", count: HookLimits.signatures + 1),
        ] { #expect(stripe.shown(in: wrong) == nil, "\(wrong)") }
        #expect(stripe.isTimely(100, now: 110) && stripe.isTimely(110, now: 100))
        #expect(!stripe.isTimely(100, now: 111) && !stripe.isTimely(111, now: 100))
        #expect(!stripe.isTimely(.max, now: -1) && !stripe.isTimely(0, now: .min))
    }

    /// Whatever a header holds, it is read as a second, plain reader reads it.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func headersAreReadAsAPlainReaderDoes(seed: UInt64) throws {
        let plain = try Self.signature(", prefix: 'sha256='")
        let stripe = try Self.signature(", form: stripe")
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "t=", "v1=", "v0=", ",", " ", "=", "0", "17", "a5", "A5", "g", "é", "\t", "sha256=", Self.hex,
        ]
        var right = 0
        for _ in 0..<2000 {
            var text = [
                "sha256=\(Self.hex)", "t=17,v1=\(Self.hex)", "v1=\(Self.hex),v1=\(Self.hex),t=17",
            ].randomElement(using: &generator)!
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let index = text.index(
                    text.startIndex, offsetBy: Int.random(in: 0...text.count, using: &generator))
                if Bool.random(using: &generator) {
                    text.insert(contentsOf: pieces.randomElement(using: &generator)!, at: index)
                } else if index < text.endIndex {
                    text.remove(at: index)
                }
            }
            let code = try #require(
                text.wholeMatch(of: /(?:sha256=([0-9a-fA-F]{64}))?.*/.dotMatchesNewlines()))
            let isPlain = text.utf8.count == 71 && code.1 != nil
            #expect((plain.shown(in: text) != nil) == isPlain, "\(text)")
            let shown = stripe.shown(in: text)
            let parts = text.components(separatedBy: ",").map { $0.drop { $0 == " " } }
            let times = parts.filter { $0.hasPrefix("t=") }.map { $0.dropFirst(2) }
            let codes = parts.filter { $0.hasPrefix("v1=") }.map { $0.dropFirst(3) }
            let isStamped =
                parts.allSatisfy { $0.contains("=") } && times.count == 1 && (1...8).contains(codes.count)
                && times[0].wholeMatch(of: /[0-9]{1,18}/) != nil
                && codes.allSatisfy { $0.wholeMatch(of: /[0-9a-fA-F]{64}/) != nil }
            #expect((shown != nil) == isStamped, "\(text)")
            if isPlain || isStamped { right += 1 }
            if let shown {
                #expect(shown.start == Array("\(times[0]).".utf8) && shown.codes.count == codes.count)
            }
        }
        #expect(right > 200)
    }

    @Test func aRequestBecomesADispatch() throws {
        let hook = try Self.hook("", "action: c, payload: { n: = body.n, q: = query.q }, key: = headers.x")
        let data: JSON = ["body": ["n": 3], "headers": ["x": 7], "query": ["q": "a"]]
        #expect(
            try hook.dispatch(data)
                == ["store": "a/b", "action": "c", "payload": ["n": 3, "q": "a"], "key": "h:7"])
        for (name, empty) in [("headers", ["x": ""]), ("headers", [:]), ("body", .null)] as [(String, JSON)] {
            var other = data.object ?? [:]
            other[name] = empty
            #expect(throws: (any Error).self, "\(name)") { try hook.dispatch(.object(other)) }
        }
        let meant = try Self.load(
            "hook: h\ncheck: { token: { file: s } }\nif: body.loud\ndispatch: { type: a, action: c }")
        #expect(meant.isMeant(["body": ["loud": true]]))
        for body: JSON in [["loud": false], [:], .null, [1], "loud"] {
            #expect(!meant.isMeant(["body": body]))
        }
        #expect(try meant.dispatch(["body": .null]) == ["type": "a", "action": "c", "payload": [:]])
    }
}
