import BusJSON

/// What an action does to one of its store's timers: sets or resets it, or cancels it.
package struct TimerChange: Sendable {
    package struct Setting: Sendable {
        /// In milliseconds since 1970.
        package let due: Int
        /// After how many milliseconds it repeats, again and again; nil: it does not.
        package let every: Int?
        package let action: String
        /// Accepted by the action, with defaults filled in.
        package let payload: JSONObject

        package init(due: Int, every: Int? = nil, action: String, payload: JSONObject) {
            self.due = due
            self.every = every
            self.action = action
            self.payload = payload
        }
    }

    package let name: String
    /// Nil: the timer is taken away.
    package let setting: Setting?

    package init(name: String, setting: Setting?) {
        self.name = name
        self.setting = setting
    }
}

/// Keeps the timers of stores. An action changes them while it is applied, so a commit that is rolled back changes none.
package protocol TimerKeeper: AnyObject {
    /// Changes timers of the store that is being committed to. Throws the reason, as the end of a sentence, where it
    /// can have no more of them.
    func change(_ timers: [TimerChange]) throws(TimerRefusal)
}

/// Why a timer can't be set, as the end of a sentence.
package struct TimerRefusal: Error, Sendable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
