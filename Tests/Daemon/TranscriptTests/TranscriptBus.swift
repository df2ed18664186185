import TestServer

/// A bus that transcripts are run against, in memory or over sockets.
protocol TranscriptBus {
    var epoch: String { get }
    func connect(_ client: Character, tcp: Bool) throws
    func send(_ client: Character, _ line: String) throws
    /// What the client receives next. Waits for it, but not for ever.
    func receive(_ client: Character) throws -> Reception
    func close(_ client: Character) throws
    /// Replaces the files of types beside the samples; a reload finds them.
    func define(_ definitions: [String]) throws
    func shutDown() throws
}
