import TestModes
import Testing

/// The examples of the pages do what they say.
@Suite(.inBothModes) struct TranscriptTests {
    /// Of a bus without a log, and without other members.
    private static let ofOneMachine = [
        "Without a log", "Actions of the past that are gone", "A bus of one machine",
        "What is not kept", "log",
    ]

    @Test(arguments: try TranscriptPage.transcripts().filter { !ofOneMachine.contains($0.title) })
    func pageIsRightInMemory(_ transcript: Transcript) throws {
        var runner = TranscriptRunner(transcript, on: try MemoryTranscriptBus(transcript))
        let mistakes = try runner.run()
        #expect(mistakes == [])
    }

    @Test(
        .aloneOnly(because: "They show a bus without a log, or without other members."),
        arguments: try TranscriptPage.transcripts().filter { ofOneMachine.contains($0.title) })
    func pageOfOneMachineIsRightInMemory(_ transcript: Transcript) throws {
        try pageIsRightInMemory(transcript)
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
