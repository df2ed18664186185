import Logging
import Systemd

/// The kind of a log entry, for those that an operator may want to find or have explained. Each has an ID that never
/// changes: `MESSAGE_ID` in the journal, and its text in the message catalog.
package enum LogKind: String, Sendable, CaseIterable {
    case ready = "21e034080f6945808bc7358250a4ba93"
    case stopping = "609edeee346a404f9e95108792eb4599"
    case takenOver = "041b63f9bfa94dc1a230c5b9c05847ce"
    case notTakenOver = "d84f1bc051f649718ea614f81edd035f"
    case reloaded = "f240b3a15a704affa44eabf8c31f444d"
    case reloadRefused = "88eb3b0d9ac445f1ba6ee6b5c3a3056f"
    case definitionKept = "73c847c072a94387a2fb89f7889d013f"
    case wrongConfiguration = "390c2e3a470c46549d577a9e23900235"
    case clientCutOff = "e63322e73a00418fae73510191ef23ca"
    case kicked = "01acf4ea50ed498885920afb53e6bc7d"
    case strangerRefused = "fc6f66f3b4f649b1b20a786420ce3382"
    case willRejected = "34d4287b7dcb44398239e96bf2b2e68d"
    case denied = "d91c48ae46c34f2e9d11eac7612cf366"
    case timerRejected = "7ba50eeeaceb443e83844bccd97d17fc"
    case leftOut = "8cf547c1093649bc81cd41899e1a7db8"
    case storeCreated = "7ba2a3ccd47c4b73b63c568db62ed803"
    case storeDropped = "4bcb5470fecb4ea5b1790f980484d3fc"
    case committed = "f190463ffbd341caaf6c4adbad93d440"
    case logRead = "4f2761df0af9463495751949216160db"
    case logTrouble = "5fbde6c93e9242c38120fcfff8ef95a5"
    case logRecovered = "3cff9e861b864b8eafe01458174db0e1"
    case newEpoch = "4c5161f48baa4d1db439ed7ccfd8f8c7"
    case attached = "0ebc41b7987543cf83b6818a8b3ab2d5"
    case detached = "5cb01fb631a54e01825df3800fe66998"
    case joined = "6d183247f51f42deb2913351d8f8aae7"
    case memberEnded = "7262db030bfd40f3ba66f2da2261d544"
    case diverged = "d1e18c0e1e6448f79394e9d09ecb12ad"
    case differs = "d4a2975d24004fdf979bf3cee9840ac7"
    case logLost = "4b5aa3c22f734b6999e3be417b41b15a"
    case clockAhead = "83d86055b7604eb28bf682b8c89b24c6"
    case otherCopy = "424162f794de4ac6af138a794481292f"
    case filesDiffer = "06556b19822149c1b4ccbd591f5c3a60"

    /// The key under which an entry's metadata holds its kind.
    package static let key = "message-id"

    /// The kind as metadata of an entry.
    package var metadata: Logger.Metadata { [Self.key: .string(rawValue)] }

    static func messageID(_ metadata: Logger.Metadata) -> MessageID? {
        metadata[key].flatMap { MessageID($0.description) }
    }
}
