import BusJSON
import BusTypes
import Testing

/// States on their way to the wire and from there.
@Suite struct SharedStateTests {
    @Test func typesAreNamedAfterTheSwiftType() {
        #expect(Heater.typeName == "heater")
        #expect(Lamp.typeName == "lamp-v2")
    }

    @Test func publishedValuesAreMembersThatReadersPassOver() throws {
        let state = Heater(target: 19.5, mode: .off, room: nil)
        #expect(try state.encodedMembers() == ["target": 19.5, "mode": "off"])
        let published = Heater.published.members(of: state)
        #expect(Heater.published.names == ["broken", "double", "isWarm", "roomOrNull"])
        #expect(published.map(\.value) == [.null, 39.0, true, .null])
        let whole = JSON.object(JSONObject(distinct: try state.encodedMembers().members + published) ?? [:])
        #expect(try Heater.state(from: whole) == state)
        let error = #expect(throws: JSONCodingError.self) {
            try Heater.state(from: ["target": "warm", "mode": "auto"])
        }
        #expect(error?.description == "target: a number is needed, not a string.")
    }
}
