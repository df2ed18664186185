import BusJSON
import FluxBus
import Testing

@Suite("Mirrors")
struct MirrorTests {
    /// A mirror that has folded these events.
    private func mirror(
        _ events: JSONObject..., format: BusMirror.Format = .merge, startingAt: Int? = nil
    ) throws -> BusMirror {
        var mirror = BusMirror(format: format, startingAt: startingAt)
        for event in events { _ = try mirror.fold(event) }
        return mirror
    }

    private let reset: JSONObject = [
        "event": "change", "from": 0, "revision": 42, "reset": true,
        "states": ["counter/a": ["count": 2, "even": true], "counter/b": ["count": 9]],
    ]

    private func change(_ from: Int, _ revision: Int, _ members: JSONObject) -> JSONObject {
        var event = members
        event["event"] = "change"
        event["from"] = .int(from)
        event["revision"] = .int(revision)
        return event
    }

    private func expectGap(_ events: JSONObject..., from mirror: BusMirror = BusMirror()) {
        #expect {
            var mirror = mirror
            for event in events { _ = try mirror.fold(event) }
        } throws: { error in
            (error as? BusError)?.code == .gap
        }
    }

    @Test func aResetForgetsEverythingBefore() throws {
        let later = change(0, 50, ["reset": true, "states": ["counter/c": ["count": 1]]])
        let mirror = try mirror(reset, later)
        #expect(mirror.states == ["counter/c": ["count": 1]])
        #expect(mirror.revision == 50)
    }

    /// The bus may start over between two parts of an event; then nothing of the first ones counts.
    @Test func aResetEndsAnEventThatIsUnderWay() throws {
        let part = change(42, 43, ["states": ["counter/d": ["count": 4]], "more": true])
        let anew = change(0, 42, ["reset": true, "states": ["counter/a": ["count": 2]]])
        let mirror = try mirror(reset, part, anew)
        #expect(mirror.states == ["counter/a": ["count": 2]])
        #expect(mirror.revision == 42)
    }

    @Test func anEmptyResetIsAnEmptyMirror() throws {
        let mirror = try mirror(change(0, 7, ["reset": true, "states": [:]]))
        #expect(mirror.states.isEmpty)
        #expect(mirror.revision == 7)
    }

    @Test func statesReplaceChangesPatchAndDroppedRemoves() throws {
        let mirror = try mirror(
            reset,
            change(
                42, 43,
                [
                    "changes": ["counter/a": ["count": 3, "even": .null]],
                    "states": ["counter/new": ["count": 0]],
                    "dropped": ["counter/b"],
                ]))
        #expect(mirror.states == ["counter/a": ["count": 3], "counter/new": ["count": 0]])
    }

    @Test func aPatchSubscriptionAppliesJSONPatches() throws {
        let mirror = try mirror(
            reset,
            change(42, 43, ["changes": ["counter/a": [["op": "replace", "path": "/count", "value": 3]]]]),
            format: .patch)
        #expect(mirror.states["counter/a"] == ["count": 3, "even": true])
    }

    @Test func aPatchThatDoesNotFitIsAGap() throws {
        let patch = change(42, 43, ["changes": ["counter/a": [["op": "remove", "path": "/nothing"]]]])
        expectGap(reset, patch, from: BusMirror(format: .patch))
    }

    @Test func aStateSubscriptionTakesWholeStates() throws {
        let mirror = try mirror(
            reset, change(42, 43, ["states": ["counter/a": ["count": 3]]]), format: .state)
        #expect(mirror.states["counter/a"] == ["count": 3])
    }

    @Test func aMissingEventIsAGap() {
        expectGap(reset, change(43, 44, ["changes": ["counter/a": ["count": 4]]]))
        expectGap(reset, change(41, 44, ["changes": ["counter/a": ["count": 4]]]))
    }

    @Test func aFirstEventWithoutResetIsAGap() {
        expectGap(change(42, 43, ["changes": [:]]))
    }

    @Test func aChangeOfAnUnknownStoreIsAGap() {
        expectGap(reset, change(42, 43, ["changes": ["counter/z": ["count": 4]]]))
    }

    @Test func aBookmarkMovesTheRevision() throws {
        let mirror = try mirror(
            reset, ["event": "bookmark", "revision": 90],
            change(90, 91, ["changes": ["counter/a": ["count": 4]]]))
        #expect(mirror.revision == 91)
        expectGap(reset, ["event": "bookmark", "revision": 90], change(42, 91, [:]))
    }

    @Test func partsAreInvisibleUntilTheLast() throws {
        var mirror = try mirror(reset)
        let first = change(42, 43, ["more": true, "changes": ["counter/a": ["count": 3]]])
        let second: JSONObject = [
            "event": "change", "revision": 44, "dropped": ["counter/b"],
            "states": ["counter/a": ["count": 8]],
        ]
        #expect(try mirror.fold(first) == nil)
        #expect(mirror.states["counter/a"] == ["count": 2, "even": true])
        #expect(mirror.revision == 42)
        let whole = try #require(try mirror.fold(second))
        #expect(mirror.states == ["counter/a": ["count": 8]])
        #expect(mirror.revision == 44)
        #expect(whole.from == 42)
        #expect(whole.stores.map(\.address) == ["counter/a", "counter/b"])
        #expect(whole.stores[0].old == ["count": 2, "even": true])
        #expect(whole.stores[1].isDropped)
    }

    @Test func aSplitResetForgetsOnlyAtItsEnd() throws {
        var mirror = try mirror(reset)
        _ = try mirror.fold(change(0, 50, ["reset": true, "more": true, "states": ["counter/x": [:]]]))
        #expect(mirror.states.count == 2)
        let whole = try #require(
            try mirror.fold(["event": "change", "revision": 50, "states": ["counter/y": [:]]]))
        #expect(mirror.states == ["counter/x": [:], "counter/y": [:]])
        #expect(whole.isReset)
    }

    @Test func aMirrorWithoutFirstStateGoesOnFromARevision() throws {
        var mirror = BusMirror(startingAt: 42)
        let done = try mirror.fold(change(42, 43, ["changes": ["counter/a": ["count": 3]]]))
        let change = try #require(done)
        #expect(change.stores[0].new == nil)
        #expect(change.stores[0].patch == ["count": 3])
        #expect(mirror.states.isEmpty)
        expectGap(self.change(44, 45, [:]), from: mirror)
    }

    @Test func whatHappenedIsTold() throws {
        var mirror = try mirror(reset)
        let merged = change(42, 57, ["coalesced": 15, "changes": ["counter/a": ["count": 17]]])
        let change = try #require(try mirror.fold(merged))
        #expect(change.coalesced == 15)
        #expect(change.stores[0].old?["count"] == 2)
        #expect(change.stores[0].new?["count"] == 17)
    }

    @Test func eventsOfOtherKindsChangeNothing() throws {
        var mirror = try mirror(reset)
        #expect(try mirror.fold(["event": "action", "revision": 43]) == nil)
        #expect(try mirror.fold(["event": "something new"]) == nil)
        #expect(mirror.revision == 42)
    }

    @Test(arguments: [
        ["event": "change", "revision": 1] as JSONObject, ["event": "change", "from": 0, "reset": true],
    ])
    func aChangeWithoutItsNumbersIsNoBus(_ event: JSONObject) {
        #expect {
            var mirror = BusMirror()
            _ = try mirror.fold(event)
        } throws: { error in
            (error as? BusError)?.code == .unexpectedReply
        }
    }
}
