import Testing

/// The runner of transcripts finds what is wrong with one.
@Suite struct RunnerTests {
    private func run(_ lines: String) throws {
        let page = "# A heading\n```transcript\n= stores counter/a\n\(lines)\n```\n"
        let transcript = try #require(try TranscriptPage.transcripts(in: page).first)
        var runner = TranscriptRunner(transcript, on: try MemoryTranscriptBus(transcript))
        try runner.run()
    }

    @Test func rightTranscriptPasses() throws {
        try run(#"A> {"op":"sync","id":1}"# + "\n" + #"A< {"ok":true,"id":1,"revision":1}"#)
        try run(#"A> {"op":"sync","id":1}"# + "\n" + #"A< {"ok":true,"id":1,"revision":"…"}"#)
    }

    @Test(arguments: [
        // Different, missing, surplus; a member too many and one too few; 1 is not 1.0.
        #"A< {"ok":true,"revision":2}"#, #"A< {"ok":true,"revision":1}\#nA< {"ok":true}"#, "",
        #"A< {"ok":true}"#, #"A< {"ok":true,"revision":1,"more":"…"}"#, #"A< {"ok":true,"revision":1.0}"#,
        #"A! closed"#,
    ])
    func wrongTranscriptFails(_ received: String) {
        withKnownIssue { try run(#"A> {"op":"sync"}"# + "\n" + received) }
    }
}
