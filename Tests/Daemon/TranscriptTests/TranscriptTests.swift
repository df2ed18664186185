import TestModes
import Testing

/// The examples of the pages do what they say.
@Suite(.inBothModes) struct TranscriptTests {
    private static let reason =
        "The pages show the replies of one machine: its revisions, and no `cluster` in them."

    @Test(.aloneOnly(because: Self.reason), arguments: try TranscriptPage.transcripts())
    func pageIsRightInMemory(_ transcript: Transcript) throws {
        var runner = TranscriptRunner(transcript, on: try MemoryTranscriptBus(transcript))
        let mistakes = try runner.run()
        #expect(mistakes == [])
    }

    @Test(.aloneOnly(because: Self.reason), arguments: try TranscriptPage.transcripts())
    func pageIsRightOverSockets(_ transcript: Transcript) throws {
        var runner = TranscriptRunner(transcript, on: try LiveTranscriptBus(transcript))
        let mistakes = try runner.run()
        #expect(mistakes == [])
    }
}
