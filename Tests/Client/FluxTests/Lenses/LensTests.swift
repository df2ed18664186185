import Flux
import Testing

@Suite struct LensTests {
    @Test func lensReadsAndChangesInPlace() throws {
        var house = Household()
        let volume = Lens(\Household.settings).appending(\.volume)
        try volume.update(&house) { $0 += 1 }
        #expect(try volume.part(of: house) == 6)
        #expect(try volume.update(&house) { $0 * 2 } == 12)
    }

    @Test func elementsByIndexByIdentityAndByKey() throws {
        var house = Household()
        let rooms = Lens(\Household.rooms)
        try rooms.element(at: 1).appending(\.celsius).update(&house) { $0 = 25 }
        try rooms.element(id: "kitchen").appending(\.celsius).update(&house) { $0 = 18 }
        #expect(house.rooms.map(\.celsius) == [18, 25])
        let guest = Lens(\Household.guests).value(forKey: "Ann")
        #expect(try guest.part(of: house) == nil)
        try guest.update(&house) { $0 = 3 }
        #expect(house.guests == ["Ann": 3])
        try guest.update(&house) { $0 = nil }
        #expect(house.guests.isEmpty)
    }

    @Test func absentElementsAreErrors() {
        var house = Household()
        #expect(throws: FluxError.self) { try Lens(\Household.rooms).element(at: 2).part(of: house) }
        #expect(throws: FluxError.self) {
            try Lens(\Household.rooms).element(id: "cellar").update(&house) { $0.celsius = 0 }
        }
        #expect(house == Household())
    }

    @Test func closuresAreLensesToo() throws {
        var house = Household()
        let loud = Lens<Household, Bool>(
            get: { $0.settings.volume > 7 }, set: { $0.settings.volume = $1 ? 10 : 1 })
        try loud.update(&house) { $0.toggle() }
        #expect(house.settings.volume == 10)
        #expect(try loud.part(of: house))
    }
}
