import TestModes
import Testing

/// The runner of transcripts finds what is wrong with one.
@Suite(.inBothModes) struct RunnerTests {
    private func mistakes(in lines: String) throws -> [String] {
        let page = "# A heading\n```transcript\n= stores counter/a\n\(lines)\n```\n"
        let transcript = try #require(try TranscriptPage.transcripts(in: page, name: "page").first)
        var runner = TranscriptRunner(transcript, on: try MemoryTranscriptBus(transcript))
        return try runner.run()
    }

    @Test func rightTranscriptPasses() throws {
        for revision in ["1", #""…""#] {
            let lines = #"A> {"op":"sync","id":1}"# + "\n" + #"A< {"ok":true,"id":1,"revision":\#(revision)}"#
            #expect(try mistakes(in: lines) == [])
        }
    }

    @Test(arguments: [
        // Different, missing, surplus; a member too many and one too few; 1 is not 1.0.
        #"A< {"ok":true,"revision":2}"#, #"A< {"ok":true,"revision":1}\#nA< {"ok":true}"#, "",
        #"A< {"ok":true}"#, #"A< {"ok":true,"revision":1,"more":"…"}"#, #"A< {"ok":true,"revision":1.0}"#,
        #"A! closed"#,
    ])
    func wrongTranscriptFails(_ received: String) throws {
        #expect(try mistakes(in: #"A> {"op":"sync"}"# + "\n" + received).count == 1)
    }
}
