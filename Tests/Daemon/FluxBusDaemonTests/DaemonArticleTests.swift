import FluxBusDaemon
import Foundation
import TestFiles
import TestModes
import TestSupport
import Testing

/// The type that the article "Across processes" hosts in a daemon, as it stands there.
struct Lantern: SharedState {
    private(set) var isOn = false

    enum Action: Codable, Sendable { case switchOn(seconds: Int = 300), switchOff }

    static let actions = ActionList<Lantern>(.switchOn(), .switchOff)
    static let timers = TimerRule<Lantern> { action, state in
        switch action {
        case .switchOn(let seconds): [.set("off", after: .seconds(seconds), .switchOff)]
        case .switchOff: [.cancel("off")]
        }
    }
    static let timeToLive: Duration? = .seconds(3600)

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Lantern) {
            switch action {
            case .switchOn: state.isOn = true
            case .switchOff: state.isOn = false
            }
        }
    }
}

@Suite(.inBothModes) struct DaemonArticleTests {
    @Test func typeOfTheArticleIsHosted() throws {
        let article = try Repository.text("Sources/Client/FluxBus/FluxBus.docc/AcrossProcesses.md")
        let code = try #require(
            article.components(separatedBy: "```swift\n").first { $0.hasPrefix("struct Lantern") })
        let here = try String(contentsOfFile: #filePath, encoding: .utf8)
        #expect(here.contains(code.components(separatedBy: "```")[0]))

        var setup = MemoryBus.Setup()
        setup.natives = try FluxBusDaemon.compile([Lantern.self])
        let bus = try MemoryBus(setup)
        let client = bus.connect()
        func isOn() throws -> Bool? {
            try client.ask(#"{"op":"get","match":"lantern/*"}"#).last?["states"]?["lantern/a"]?["isOn"]?.bool
        }
        _ = try client.ask(#"{"op":"create","store":"lantern/a"}"#)
        _ = try client.ask(#"{"op":"dispatch","store":"lantern/a","action":"switchOn"}"#)
        bus.advance(milliseconds: 299_999)
        #expect(try isOn() == true)
        bus.advance(milliseconds: 1)
        #expect(try isOn() == false)
        bus.advance(milliseconds: 3_600_000)
        #expect(try isOn() == nil)
    }
}
