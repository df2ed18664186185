import Testing

/// The examples of the protocol page do what the page says.
@Suite struct TranscriptTests {
    @Test(arguments: try TranscriptPage.transcripts())
    func pageIsRightInMemory(_ transcript: Transcript) throws {
        var runner = TranscriptRunner(transcript, on: try MemoryTranscriptBus(transcript))
        #expect(try runner.run() == [])
    }

    @Test(arguments: try TranscriptPage.transcripts())
    func pageIsRightOverSockets(_ transcript: Transcript) throws {
        var runner = TranscriptRunner(transcript, on: try LiveTranscriptBus(transcript))
        #expect(try runner.run() == [])
    }
}
