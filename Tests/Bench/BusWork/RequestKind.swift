import BusJSON

/// The kinds of requests that real clients mix. What each costs is compared with the plain one: the same line again and again.
package enum RequestKind: String, CaseIterable, Sendable {
    /// Increments of one store, alike but for their `id`.
    case plain
    /// Increments of stores in turn.
    case varied
    /// Increments of one store, each with a key of its own, as client libraries send them.
    case keyed
    /// Dispatches to stores in turn, of a type with a condition, a requirement and computed values.
    case rules
    /// The same, of a type that says it with expressions in text.
    case expressions
    /// Reads of stores in turn.
    case get
    /// Two increments of stores in turn in one commit.
    case batch
    /// Those of `single`, in turn.
    case mixed

    /// The kinds that `mixed` consists of.
    package static let single: [RequestKind] = [.varied, .keyed, .rules, .get, .batch]

    /// The kind of the request with a number.
    package func kind(of number: Int) -> RequestKind {
        self == .mixed ? Self.single[number % Self.single.count] : self
    }

    /// Where requests go, and what their keys begin with.
    package struct Target {
        /// So many are there of each of the two types; their names begin with `prefix` and end with a number.
        let stores: Int
        let prefix: String
        /// Distinguishes runs on the same bus.
        let keys: String

        package init(stores: Int, prefix: String, keys: String) {
            self.stores = stores
            self.prefix = prefix
            self.keys = keys
        }

        /// What stands in a line before a key's number, which has `keyDigits` digits.
        package func keyMark(of sender: Int) -> String { #""key":"\#(keys)\#(10_000 + sender)-"# }
    }

    package static let keyDigits = 12

    /// The line with a number, without its end, for one sender among others.
    package func line(_ number: Int, of sender: Int, to target: Target) -> String {
        let prefix = target.prefix
        // Far apart, so that what one request touches is not near what the one before did.
        func store(_ step: Int) -> String { "\(prefix)\((number * 7 + sender * 37 + step) % target.stores)" }
        func increment(_ store: String, _ payload: Int) -> String {
            #""store":"counter/\#(store)","action":"increment","payload":{"by":\#(payload)}"#
        }
        let id = 100_000 + number
        switch self {
        case .plain: return #"{"op":"dispatch","id":\#(id),\#(increment("\(prefix)0", 1))}"#
        case .varied: return #"{"op":"dispatch","id":\#(id),\#(increment(store(0), 1 + number % 9))}"#
        case .keyed:
            let digits = String(number)
            let key =
                target.keyMark(of: sender) + String(repeating: "0", count: Self.keyDigits - digits.count)
                + digits
            return #"{"op":"dispatch","id":\#(id),\#(increment("\(prefix)0", 1)),\#(key)"}"#
        case .rules, .expressions:
            let action =
                #""store":"\#(types[1])/\#(store(0))","action":"adjust","payload":{"by":\#(1 + number % 9)}"#
            return #"{"op":"dispatch","id":\#(id),\#(action)}"#
        case .get: return #"{"op":"get","id":\#(id),"store":"counter/\#(store(0))"}"#
        case .batch:
            let actions = "[{\(increment(store(0), 1))},{\(increment(store(3), 2))}]"
            return #"{"op":"dispatch","id":\#(id),"actions":\#(actions)}"#
        case .mixed:
            return kind(of: number).line(number, of: sender, to: target)
        }
    }

    /// The types that the lines name.
    package var types: [String] { ["counter", self == .expressions ? "dial" : "gauge"] }

    /// The definitions of all types that lines name. The second is what a type with rules looks like: a condition on the
    /// state, a requirement on the payload, two writes that read the state, one of them nested, and two computed values. The third
    /// says the same in text.
    package static let definitions = [
        """
        {"type":"counter","initial":{"count":0},"actions":{"increment":{
          "payload":{"by":{"type":"integer","default":1}},"increment":{"count":{"var":"payload.by"}}}}}
        """,
        """
        {"type":"gauge","initial":{"level":0,"limit":1000000000000,"last":{"by":0,"before":0}},
         "computed":{"isHigh":{">":[{"var":"level"},500]},
                     "rest":{"-":[{"var":"limit"},{"var":"level"}]}},
         "actions":{"adjust":{"payload":{"by":"integer"},
           "when":{"<":[{"var":"state.level"},{"var":"state.limit"}]},
           "require":[{"if":{">":[{"var":"payload.by"},0]},"else":"adjust by more than nothing"}],
           "set":{"level":{"+":[{"var":"state.level"},{"var":"payload.by"}]},"last.before":{"var":"state.level"}}}}}
        """,
        """
        {"type":"dial","expressions":"cel","initial":{"level":0,"limit":1000000000000,"last":{"by":0,"before":0}},
         "computed":{"isHigh":"level > 500","rest":"limit - level"},
         "actions":{"adjust":{"payload":{"by":"integer"},
           "when":"state.level < state.limit",
           "require":[{"if":"payload.by > 0","else":"adjust by more than nothing"}],
           "set":{"level":"= state.level + payload.by","last.before":"= state.level"}}}}
        """,
    ]
}
