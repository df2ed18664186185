import TestModes
import Testing

/// The examples of the pages do what they say.
@Suite(.inBothModes) struct TranscriptTests {
    @Test(arguments: try TranscriptPage.transcripts())
    func pageIsRightInMemory(_ transcript: Transcript) throws {
        var runner = TranscriptRunner(transcript, on: try MemoryTranscriptBus(transcript))
        let mistakes = try runner.run()
        #expect(mistakes == [])
    }

    @Test(
        .aloneOnly(because: "A daemon needs an etcd to be a member, as those of `ClusterDaemonTests` have."),
        arguments: try TranscriptPage.transcripts())
    func pageIsRightOverSockets(_ transcript: Transcript) throws {
        var runner = TranscriptRunner(transcript, on: try LiveTranscriptBus(transcript))
        let mistakes = try runner.run()
        #expect(mistakes == [])
    }
}
