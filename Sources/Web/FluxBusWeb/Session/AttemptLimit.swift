/// How many wrong guesses there may be within a time. Pure; times are seconds.
package struct AttemptLimit {
    private let most: Int
    private let window: Int
    private var wrong: [Int] = []

    package init(_ most: Int = 10, within window: Int = 60) {
        self.most = most
        self.window = window
    }

    /// Seconds until another guess is looked at; nil: now.
    package mutating func wait(now: Int) -> Int? {
        wrong.removeAll { $0 <= now - window || $0 > now }
        guard wrong.count >= most, let oldest = wrong.first else { return nil }
        return max(1, oldest + window - now)
    }

    package mutating func addWrong(now: Int) { wrong.append(now) }
}
