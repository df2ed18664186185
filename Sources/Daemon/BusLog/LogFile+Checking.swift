extension LogFile {
    /// Throws what would keep `init` from opening a log at this path, as far as that can be seen without touching it.
    package static func check(_ path: String) throws(LogFailure) { try LogPlace.check(path) }
}
