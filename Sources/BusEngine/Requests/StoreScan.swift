import BusJSON
import BusLogic
import BusProtocol
import BusState

/// A `get` or `stores` under way: it looks for the stores that match, as many as a slice allows at a time, then answers with
/// what they are at that moment.
///
/// Between two slices stores may come and go: whoever makes or removes one tells the scans that are under way. So the answer
/// is what it would have been in one go at the revision that it names.
final class StoreScan {
    enum Answer {
        /// States, or the selected parts of them.
        case states(Selection?)
        /// Addresses and revisions.
        case list
    }

    let answer: Answer
    let pattern: AddressPattern
    /// What all names that match begin with.
    let prefix: String
    let limit: Int
    /// Only stores behind this address.
    let after: String?
    /// The request as it came, for a daemon that takes over, and its `id`.
    var line: [UInt8] = []
    var id: [UInt8] = []

    /// The types that match, in the order of their addresses, and the one that is being looked through.
    var types: [Int32] = []
    var type = 0
    /// The last name that was looked at in it.
    var lastName: String?
    /// The stores that match, in order, and how many bytes they will take at least.
    var found: ContiguousArray<Int32> = []
    var bytes = 0
    /// There are more than were asked for.
    var hasMore = false
    /// What it is counted as while it waits.
    var heldBytes = 0

    init(
        _ answer: Answer, of pattern: AddressPattern, after: String?, limit: Int
    ) {
        self.answer = answer
        self.pattern = pattern
        self.after = after
        self.limit = limit
        prefix = String(decoding: pattern.name.literalPrefix, as: UTF8.self)
    }

    /// Begins from the beginning, as what there is has changed as a whole.
    func restart() {
        types = []
        type = 0
        lastName = nil
        found = []
        bytes = 0
        hasMore = false
    }
}
