import BusEngine
import BusJSON
import Testing

/// One example of a page: what clients send and what they receive, in order.
///
/// A block of its lines is fenced as `transcript`:
/// ```
/// = stores counter/a          configured stores; also `= limits line 4096` and `= tcp B`
/// = log                       the bus has an action log
/// A> {"op":"ping"}            client A sends a line
/// A< {"ok":true}              client A receives this, and nothing before it
/// A> 1000 × {"op":"ping"}     sends it so many times
/// A! close                    client A goes
/// A! closed                   the daemon has ended A's connection
/// bus! new types              the files of types are replaced by those of the blocks fenced as `types later`
/// bus! shutdown               the daemon stops
/// # a remark
/// ```
/// In a line received, the string "…" stands for any value; in a line sent, for the bus's epoch. `x×200` stands
/// for that letter so many times.
struct Transcript: Sendable, CustomTestStringConvertible {
    enum Step: Sendable {
        case send(Character, String, times: Int)
        case receive(Character, JSON)
        case close(Character)
        case closed(Character)
        case newTypes
        case shutdown
    }

    /// A step and its line in the page.
    struct Line: Sendable {
        let number: Int
        let step: Step
    }

    /// The file of the page, and the heading it stands under.
    let page: String
    let title: String
    var stores: [String] = []
    var limits = Limits()
    /// The same as `NAME=VALUE`, for a daemon's command line.
    var limitTexts: [String] = []
    /// Clients that come over TCP.
    var tcp: Set<Character> = []
    /// Whether the bus has an action log.
    var hasLog = false
    /// YAML of types beside the samples.
    var definitions: [String] = []
    /// What stands in their files after `bus! new types`.
    var laterDefinitions: [String] = []
    var lines: [Line] = []

    var testDescription: String { title }

    /// All clients, in the order in which they first act.
    var clients: [Character] {
        var clients: [Character] = []
        for line in lines {
            guard let client = line.step.client, !clients.contains(client) else { continue }
            clients.append(client)
        }
        return clients
    }

    /// What every TCP client of a transcript may show, and whose token it is.
    static let tokens = ["correct-horse-battery-staple": "panel"]
}

extension Transcript.Step {
    var client: Character? {
        switch self {
        case .send(let client, _, _), .receive(let client, _), .close(let client), .closed(let client): client
        case .newTypes, .shutdown: nil
        }
    }
}
