import BusJSON
import TestSupport
import Testing

/// Reading an object into the place of another gives what reading it anew gives, whatever stood there.
@Suite("Reading into the place of another") struct ReplacingTests {
    private func outcome(_ line: [UInt8], in place: JSONObject?) -> (
        Result<JSONObject, JSONError>, offset: Int
    ) {
        line.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes, depthLimit: 8)
            do throws(JSONError) {
                guard var object = place else { return (.success(try reader.object()), reader.offset) }
                try reader.object(replacing: &object)
                return (.success(object), reader.offset)
            } catch {
                return (.failure(error), 0)
            }
        }
    }

    private func expectSame(_ line: [UInt8], in place: JSONObject) {
        let (wanted, found) = (outcome(line, in: nil), outcome(line, in: place))
        #expect(wanted.0 == found.0, "\(String(decoding: line, as: UTF8.self)) in the place of \(place)")
        #expect(wanted.offset == found.offset)
    }

    @Test func similarObjectsGiveTheirOwnValues() throws {
        let place: JSONObject = ["by": 1, "store": "kitchen"]
        for text in [
            #"{"by":2,"store":"cellar"}"#, #"{"store":"cellar","by":2}"#, #"{"by":2}"#, "{}",
            #"{ "by" : 2 , "store":[]}"#,
            #"{"by":2,"store":3,"then":4}"#, #"{"by":2,"by":3}"#, #"{"by":2,"store":3,"by":4}"#,
            #"{"by":2,"store":3,}"#,
            #"{"by":2,"store"}"#, #"{"by":2,"store":"#, #"{"b\u0079":2,"store":3}"#, #"{"by""#,
            #"{"by":2 "store":3}"#,
            #"{"store":1}"#, #"{"by":{"by":{"by":{"by":{"by":{"by":{"by":{"by":1}}}}}}}}"#,
            #"{"byte":2,"store":3}"#,
        ] {
            expectSame(Array(text.utf8), in: place)
        }
    }

    @Test(arguments: 0..<8)
    func randomObjectsGiveTheirOwnValues(seed: UInt64) {
        var generator = SeededGenerator(seed: 0x9e91 + seed)
        for _ in 0..<500 {
            let place = randomJSONObject(using: &generator)
            let next = randomlyChanged(.object(place), using: &generator)
            expectSame(Array(next.encoded.utf8), in: place)
            // Cut anywhere, it is refused for the same reason.
            let bytes = Array(next.encoded.utf8)
            expectSame(Array(bytes[..<Int.random(in: 0...bytes.count, using: &generator)]), in: place)
        }
    }

    /// Somebody else who holds the object keeps what it was.
    @Test func otherHoldersKeepTheirs() throws {
        var place: JSONObject = ["by": 1]
        let held = place
        try Array(#"{"by":2}"#.utf8).withUnsafeBytes {
            var reader = JSONReader($0)
            try reader.object(replacing: &place)
        }
        #expect(held == ["by": 1])
        #expect(place == ["by": 2])
    }
}
