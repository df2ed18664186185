/// What the bus has done since it started, for `stats`.
struct Statistics {
    var connections = 0
    var requests = 0
    var commits = 0
    var dispatches = 0
    var duplicates = 0
    var events = 0
    var coalesced = 0
    var bookmarks = 0
    var goodbyes = 0
    /// Nanoseconds or so, as `Work` counts them.
    var work = 0
    var bytesIn = 0
    var bytesOut = 0
    var errors: [String: Int] = [:]
}
