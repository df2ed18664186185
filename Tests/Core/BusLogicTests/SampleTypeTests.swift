import BusDefinitions
import BusJSON
import BusLogic
import TestFiles
import Testing

/// The definitions that come with the package.
struct SampleTypeTests {
    private func bench(_ name: String) throws -> StoreBench {
        let catalog = try TypeCatalog(directory: Repository.sampleTypes)
        return StoreBench(try #require(catalog.types.first { $0.name == name }))
    }

    @Test func allOfThemLoadAndComeBackFromTheirDefinition() throws {
        let types = try TypeCatalog(directory: Repository.sampleTypes).types
        #expect(
            types.map(\.name) == [
                "counter", "door", "effect", "holders", "lease", "light", "presence", "thermostat", "todo",
                "value",
            ])
        for type in types {
            let again = try DeclaredType(definition: JSON(parsing: type.definition.encoded))
            #expect(again.definition == type.definition)
            #expect(again.initial == type.initial)
            #expect(again.actionNames == type.actionNames)
        }
    }

    @Test func theCounterCounts() throws {
        let bench = try bench("counter")
        try bench.dispatch("increment", ["by": 3])
        try bench.dispatch("decrement")
        #expect(bench.state == ["count": 2, "isEven": true])
        try bench.dispatch("reset")
        #expect(bench.state == ["count": 0, "isEven": true])
    }

    @Test func theThermostatHeatsBelowItsTarget() throws {
        let bench = try bench("thermostat")
        #expect(bench.state["heating"] == false)
        try bench.dispatch("measured", ["celsius": 19.5])
        #expect(bench.state["heating"] == true)
        try bench.dispatch("setMode", ["mode": "off"])
        #expect(bench.state["heating"] == false)
        #expect(try !bench.dispatch("boost"))
        #expect(
            try bench.rejection(of: "setMode", ["mode": "warm"]).message
                == "thermostat/kitchen refused setMode: warm is no mode; use auto, manual or off.")
        #expect(
            try bench.rejection(of: "setTarget", ["celsius": 31]).message
                == "thermostat/kitchen refused setTarget: celsius must be within 5...30.")
        bench.context.time = 12.5
        try bench.dispatch("note", ["text": "leaking"])
        #expect(bench.state["log"] == [["text": "leaking", "at": 12.5]])
    }

    @Test func theListKeepsItsItems() throws {
        let bench = try bench("todo")
        try bench.dispatch("add", ["id": "a.1", "title": "Milk"])
        try bench.dispatch("add", ["id": "b", "title": "Bread"])
        try bench.dispatch("toggle", ["id": "a.1"])
        #expect(bench.state["items"]?["a.1"]?["done"] == true)
        #expect(bench.state["total"] == 2)
        #expect(
            try bench.rejection(of: "add", ["id": "b", "title": "x"]).message.contains("an item b already"))
        _ = try bench.rejection(of: "toggle", ["id": "c"])
        try bench.dispatch("rename", ["id": "b", "title": "Rye"])
        try bench.dispatch("remove", ["id": "a.1"])
        #expect(bench.state["order"] == ["b"])
        #expect(bench.state["items"]?.object?.keys == ["b"])
        try bench.dispatch("clear")
        #expect(bench.state == bench.type.initial)
    }

    @Test func leavingTwiceIsNoError() throws {
        let bench = try bench("presence")
        try bench.dispatch("enter", ["name": "ann"])
        try bench.dispatch("say", ["name": "ann", "status": "away"])
        #expect(bench.state["people"]?["ann"]?["status"] == "away")
        #expect(try bench.dispatch("leave", ["name": "ann"]))
        #expect(try !bench.dispatch("leave", ["name": "ann"]))
    }

    @Test func aLockedDoorStaysShut() throws {
        let bench = try bench("door")
        try bench.dispatch("rang")
        try bench.dispatch("lock")
        #expect(bench.state["isSafe"] == true)
        #expect(
            try bench.rejection(of: "open").message
                == "door/kitchen refused open: the door is locked; unlock it first.")
        try bench.dispatch("unlock")
        try bench.dispatch("open")
        #expect(try !bench.dispatch("open"))
        #expect(bench.state["openings"] == 1)
        #expect(try bench.rejection(of: "lock").message.contains("close it first"))
    }
}
