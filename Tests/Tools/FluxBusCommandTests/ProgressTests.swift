import BusProtocol
import BusSystem
import FluxBusCommand
import TestServer
import TestSupport
import Testing

@Suite("Progress of long work")
struct ProgressTests {
    private let bar = ProgressBar("importing")

    @Test func itTellsShareRateAndTimeLeft() {
        #expect(
            bar.text(done: 41_000, total: 100_000, elapsed: 3.3, width: 79)
                == "importing  [################........................]   41%  12k/s  0:05 left")
        #expect(
            bar.text(done: 1, total: 4000, elapsed: 2, width: 79)
                == "importing  [.......................................]    0%  0.5/s  2:13:18 left")
        #expect(bar.text(done: 7, total: 7, elapsed: 1, width: 79).hasSuffix("]  100%  7.0/s  0:00 left"))
        #expect(bar.text(done: 1, total: 1_000_000, elapsed: 1, width: 79).hasSuffix("more than 100 h left"))
    }

    @Test func narrowTerminalsGetLess() {
        #expect(
            bar.text(done: 50, total: 100, elapsed: 5, width: 50)
                == "importing  [#######.......]   50%  10/s  0:05 left")
        #expect(
            bar.text(done: 50, total: 100, elapsed: 5, width: 40)
                == "importing  [#####.....]   50%  0:05 left")
        #expect(bar.text(done: 50, total: 100, elapsed: 5, width: 30) == "importing  [#####......]   50%")
        #expect(bar.text(done: 50, total: 100, elapsed: 5, width: 14) == "importing 50%")
        #expect(bar.text(done: 50, total: 100, elapsed: 5, width: 3) == "50%")
        #expect(bar.text(done: 50, total: 100, elapsed: 5, width: 2).isEmpty)
    }

    @Test(arguments: [UInt64(1), 2]) func itFitsWhateverTheNumbers(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let numbers = [0, 1, -1, 7, 100, .max, .min, 1_000_000_007]
        for _ in 0..<5000 {
            let width = Int.random(in: 0...200, using: &random)
            let text = bar.text(
                done: numbers.randomElement(using: &random)!, total: numbers.randomElement(using: &random)!,
                elapsed: [0, 0.001, 5, 1e9].randomElement(using: &random)!, width: width)
            #expect(text.count <= width && text.utf8.allSatisfy { 0x20..<0x7f ~= $0 }, "seed \(seed)")
        }
    }

    @Test func itAppearsAfterAWhileAndGoesAgain() throws {
        let (messages, output) = (Channel(memoryAsTerminal: true, width: 31), Channel(memoryAsTerminal: true))
        var time = 100.0
        let meter = ProgressMeter("importing", total: 100, on: messages, beside: output) { time }
        try meter.reached(1)
        time += 0.4
        try meter.reached(20)
        #expect(messages.text.isEmpty)
        time += 0.2
        try meter.reached(50)
        #expect(messages.text == "importing  [#####......]   50%")
        // Not more often than can be seen.
        time += 0.05
        try meter.reached(60)
        #expect(messages.text == "importing  [#####......]   50%")
        meter.erase()
        #expect(messages.text.hasSuffix("50%\r\u{1b}[K"))
        meter.erase()
        #expect(messages.text.hasSuffix("50%\r\u{1b}[K"))
    }

    @Test func whereNobodyLooksNothingIsDrawn() throws {
        let messages = Channel(memoryAsTerminal: false)
        var time = 0.0
        let meter = ProgressMeter("importing", total: 100, on: messages, beside: messages) {
            time += 10
            return time
        }
        for done in 1...100 { try meter.reached(done) }
        meter.erase()
        #expect(messages.text.isEmpty)
    }
}
