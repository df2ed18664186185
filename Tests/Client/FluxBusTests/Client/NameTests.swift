import FluxBus
import Testing

/// One import brings what a client needs, and hides none of the language's names.
@Suite struct NameTests {
    /// Names of the module that reads and writes JSON here; a program may have its own.
    struct JSONReader {}
    struct ByteWriter {}

    private actor Place {
        nonisolated func isServed(by executor: any Executor) -> Bool { false }
    }

    @Test func namesOfTheLanguageMeanWhatTheyMean() throws {
        #expect(Mirror(reflecting: SharedCounter()).children.first?.label == "count")
        _ = Place()
        _ = (JSONReader(), ByteWriter())
        let json: JSON = .object(JSONObject())
        #expect(try SharedCounter.migrates(json) == json)
    }
}

extension SharedCounter {
    fileprivate static func migrates(_ state: JSON) throws(JSONCodingError) -> JSON { state }
}
