import BusEffects
import BusJSON
import BusSource
import BusYAML
import Foundation
import TestFiles
import TestServer
import Testing

/// What files of effects say, and what is said about those that are wrong.
@Suite struct FileTests {
    static func load(_ text: String) throws -> Effect {
        var loader = EffectLoader()
        let effect = loader.load(try LocatedValue.read(text, file: "effect.yaml"))
        return try #require(effect, "\(loader.errors.lines)")
    }

    private static let table = "Tests/Effects/BusEffectsTests/mistakes.txt"

    @Test func everyMistakeIsToldAsTheTableSays() throws {
        let mistakes = try MistakeTable.read(Self.table)
        #expect(mistakes.count >= 45)
        #expect(Set(mistakes.map(\.title)).count == mistakes.count)
        let differences = try MistakeTable.differences(Self.table) { text in
            var loader = EffectLoader()
            let effect = loader.load(try LocatedValue.read(text, file: "effect.yaml"))
            #expect(effect == nil && !loader.errors.isEmpty, "\(text)")
            for error in loader.errors {
                #expect(
                    error.line > 0 && error.column > 0 && ".?".contains(error.message.last ?? " "), "\(error)"
                )
            }
            return loader.errors.inOrder.map { "\($0.line):\($0.column): \($0.message)" }
        }
        #expect(differences == [])
    }

    @Test func samplesAndExamplesOfThePageLoad() throws {
        var errors: [SourceError] = []
        let samples = Repository.root.appendingPathComponent("config/effects").path
        #expect(EffectCatalog(directory: samples, &errors).entries.count >= 6 && errors.isEmpty, "\(errors)")
        let blocks = try MarkdownPage("Sources/Daemon/BusServer/BusServer.docc/Effects.md").blocks("effect")
        #expect(blocks.count >= 3)
        for block in blocks { _ = try Self.load(block.text) }
    }

    /// The manual has every key, and the schema every word, that a file may have.
    @Test func theManualHasEveryKey() throws {
        let manual = try Repository.text("deploy/man/fluxbus-effects.8").replacing("\\-", with: "-")
        for key in EffectLoader.keys + EffectLoader.deeds where key != "summary" {
            #expect(manual.contains(".B \(key)") || manual.contains(".BR \(key)"), "\(key)")
        }
        let deeds = try Self.schema()["properties"]?["do"]?["properties"]?.object
        #expect(Set(try Self.schema()["properties"]?.object?.keys ?? []) == Set(EffectLoader.keys))
        #expect(Set(deeds?.keys ?? []) == Set(EffectLoader.deeds))
    }

    private static func schema() throws -> JSON {
        let program = Repository.programs.appendingPathComponent("fluxbus").path
        return try JSON(parsing: RunningProgram([program, "schema", "effect"]).wait().output)
    }

    @Test func aDirectoryIsReadAsAWhole() throws {
        let directory = TemporaryDirectory()
        try directory.write(
            "b.yaml", "effect: one\non: { action: rang, of: door/* }\ndo: { run: [/bin/true] }\n")
        try directory.write(
            "a.json", #"{"effect":"one","on":{"action":"rang","of":"door/*"},"do":{"start":"a.service"}}"#)
        try directory.write("c.yml", "effect: [")
        try directory.write("notes.txt", "nothing of ours")
        var errors: [SourceError] = []
        _ = EffectCatalog(directory: directory.path, &errors)
        #expect(errors.count == 2 && errors[0].file.hasSuffix("b.yaml") && errors[1].file.hasSuffix("c.yml"))
        #expect(errors.first?.message.contains("a.json too") == true)
        errors = []
        _ = EffectCatalog(directory: directory.path + "/none", &errors)
        #expect(errors.count == 1)
    }

    @Test func whatIsNotSaidHasItsDefault() throws {
        let effect = try Self.load(
            "effect: alarm\non: { action: rang, of: door/* }\ndo: { run: [/bin/true] }\n")
        #expect(effect.retry.times == 5 && effect.limit.running == 4 && !effect.limit.isOneByOne)
        #expect(effect.limit.rate == nil)
        #expect(effect.downtime == .all && effect.timeout == .seconds(300) && !effect.readsState)
        #expect(effect.retry.wait(before: 1) == .seconds(1) && effect.retry.wait(before: 4) == .seconds(8))
        #expect(effect.retry.wait(before: 1000) == .seconds(60))
    }

    private func event(_ payload: JSONObject, _ store: String = "door/front") -> EffectEvent {
        EffectEvent(
            .init(revision: 7), store: store,
            object: ["action": "rang", "payload": .object(payload), "time": 1.5, "by": ["uid": 1000]])
    }

    /// Also in a batch of which the log has only some actions.
    @Test func anEventOfThePastIsFoundByItsIndex() throws {
        let effect = try Self.load("effect: e\non: { action: rang, of: door/* }\ndo: { run: [/bin/true] }\n")
        func found(_ index: Int, _ actions: JSON) -> JSON? {
            EffectEvent(
                .init(revision: 7, index: index), store: "door/a", in: ["revision": 7, "actions": actions],
                for: effect)?.object["payload"]
        }
        #expect(found(1, [["payload": 0], ["payload": 1]]) == 1)
        let some: JSON = [["payload": 1, "index": 1], ["payload": 3, "index": 3]]
        #expect([0, 1, 2, 3].map { found($0, some) } == [nil, 1, nil, 3])
    }

    private func task(_ effect: Effect, _ payload: JSONObject) throws -> EffectTask {
        try effect.task(event(payload).data(for: effect))
    }

    @Test func anEventFillsWhatIsToBeDone() throws {
        let run = try Self.load(
            "effect: e\non: { action: rang, of: door/* }\ndo:\n  run: [/bin/echo, plain, = store + ' ' + payload.text, = revision, 3]\n"
        )
        #expect(
            try task(run, ["text": "$(reboot); `id` \"'"])
                == .run(path: "/bin/echo", arguments: ["plain", "door/front $(reboot); `id` \"'", "7", "3"]))
        let dispatch = try Self.load(
            "effect: e\non: { action: rang, of: door/* }\ndo:\n  dispatch:\n    store: = 'log/' + name\n    action: note\n    payload: { at: = time, who: [= by.uid] }\n"
        )
        #expect(
            try task(dispatch, [:])
                == .dispatch(["store": "log/front", "action": "note", "payload": ["at": 1.5, "who": [1000]]]))
        #expect(dispatch.key(.init(revision: 7, index: 2, part: 3), epoch: "E") == "e:E:7:2.3")
    }

    @Test func anEventFillsARequest() throws {
        func post(_ text: String) throws -> PostTask {
            let effect = try Self.load(
                "effect: e\non: { action: rang, of: door/* }\ndo: { post: { \(text) } }\n")
            #expect(effect.timeout == .seconds(30))
            guard case .post(let task) = try task(effect, ["text": "a/../b c"]) else {
                throw EffectRefusal("")
            }
            return task
        }
        let plain = try post("url: 'https://example.org/hook'")
        #expect(
            plain
                == PostTask(
                    address: .text("https://example.org/hook"), headers: [], body: nil, authority: nil))
        let full = try post(
            #"url: 'https://example.org:8443?door={store.name}&text={payload.text}', headers: { X-A: = payload.text, X-B: 7 }, body: '= {"door": store}'"#
        )
        #expect(full.address == .text("https://example.org:8443?door=front&text=a%2F..%2Fb%20c"))
        #expect(
            full.headers.map(\.value) == [.text("a/../b c"), .text("7")]
                && full.body == ["door": "door/front"])
        #expect(
            EffectTask.post(full).text
                == #"post {"door":"door/front"} to https://example.org:8443?door=front&text=a%2F..%2Fb%20c"#)
        #expect(
            try EffectTask.post(post("url: { file: /etc/hook }")).text
                == "post the event to the address in /etc/hook")
        for wrong in [
            "url: 'https://example.org/{payload.none}'", "url: https://example.org, body: = payload.none",
        ] {
            #expect(throws: EffectRefusal.self) { try post(wrong) }
        }
    }

    /// Whatever a client sends, no other unit is named than the file means.
    @Test(arguments: [
        "../../evil", "x.service evil", "a\nb", "", "x/y", "ü", "a\u{0}b", "a b", "{name}",
        String(repeating: "a", count: 300),
    ])
    func aHostileValueNamesNoUnit(_ text: String) throws {
        let effect = try Self.load(
            "effect: e\non: { action: rang, of: door/* }\ndo: { start: 'alarm@{payload.room}.service' }\n")
        #expect(throws: EffectRefusal.self) { try task(effect, ["room": .string(text)]) }
    }

    /// What stands in a unit's name stays in the instance.
    @Test(arguments: ["x.service", "other@x.service", "-", "kitchen", "a\\x2db", ".."])
    func anyOtherValueIsAnInstanceOfTheTemplate(_ text: String) throws {
        let effect = try Self.load(
            "effect: e\non: { action: rang, of: door/* }\ndo: { restart: 'alarm@{payload.room}.service' }\n")
        #expect(try task(effect, ["room": .string(text)]) == .unit(.restart, "alarm@\(text).service"))
        for payload: JSONObject in [[:], ["room": .null], ["room": ["a": 1]]] {
            #expect(throws: EffectRefusal.self) { try task(effect, payload) }
        }
    }

    @Test func anArgumentWithAZeroByteIsRefused() throws {
        let effect = try Self.load(
            "effect: e\non: { action: rang, of: door/* }\ndo:\n  run: [/bin/echo, = payload.text]\n")
        #expect(throws: EffectRefusal.self) { try task(effect, ["text": "a\u{0}b"]) }
        #expect(throws: EffectRefusal.self) { try task(effect, ["text": [:]]) }
    }

    @Test func aConditionWithoutAValueDoesNotHold() throws {
        let effect = try Self.load(
            "effect: e\non: { action: rang, of: door/* }\nif: payload.loud == true\ndo: { run: [/bin/true] }\n"
        )
        #expect(effect.isMeant(event(["loud": true]).data(for: effect)))
        #expect(!effect.isMeant(event(["loud": false]).data(for: effect)))
        #expect(!effect.isMeant(event([:]).data(for: effect)))
    }

    @Test func onlyStoresOfThePatternAreConcerned() throws {
        let effect = try Self.load(
            "effect: e\non: { action: [rang, open], of: door/f* }\ndo: { run: [/bin/true] }\n")
        #expect(effect.concerns(action: "open", store: "door/front", type: nil))
        #expect(effect.concerns(action: "rang", store: nil, type: "door"))
        #expect(!effect.concerns(action: "close", store: "door/front", type: nil))
        #expect(!effect.concerns(action: "rang", store: "door/back", type: nil))
        #expect(!effect.concerns(action: "rang", store: nil, type: "light"))
        let own = try Self.load(
            "effect: e\non: { action: setAside, of: effect/* }\ndo: { run: [/bin/true] }\n")
        #expect(own.concerns(action: "setAside", store: "effect/other", type: nil))
        #expect(!own.concerns(action: "setAside", store: "effect/e", type: nil))
    }

    @Test func idsAreReadAsTheyAreWritten() {
        for id in [
            EffectEvent.ID(revision: 7), .init(revision: 7, index: 2), .init(revision: 7, index: 2, part: 3),
        ] {
            #expect(EffectEvent.ID("\(id)") == id)
        }
        for text in [
            "", "7", "7:", ":1", "7:1.", "7:1.2.3", "a:1", "7:b", "0:1", "-1:0", "\(Int.min):0", "7:-1",
            "7:1.-1",
        ] {
            #expect(EffectEvent.ID(text) == nil)
        }
    }
}
