import Glibc

/// Another file takes the place of one that is not gone on with, which is kept beside it. At any moment there is one of
/// them that knows what has to be known.
extension LogFile {
    /// Where the next file is made, before it takes the place.
    package static func next(of path: String) -> String { path + ".next" }

    private static func aside(of path: String, _ number: Int) -> String { "\(path).aside-\(number)" }

    /// Where the files lie that were moved aside, the last one first.
    package static func allAside(of path: String) -> [String] {
        var files: [String] = []
        while access(aside(of: path, files.count + 1), F_OK) == 0 {
            files.append(aside(of: path, files.count + 1))
        }
        return files.reversed()
    }

    /// Ends the run, moves the file aside and gives its name to the next one, which is complete and closed. It must not be
    /// used afterwards. Returns where what was there lies.
    package func giveWay() throws(LogFailure) -> String {
        try close()
        let aside = Self.freeAside(of: path)
        try Self.rename(path, aside)
        // Both are empty once the run has ended.
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        try Self.rename(Self.next(of: path), path)
        unlink(Self.next(of: path) + "-lock")
        lock = nil
        return aside
    }

    private static func freeAside(of path: String) -> String {
        aside(of: path, allAside(of: path).count + 1)
    }

    /// Moves a log aside, with the files that belong to it, whether or not it is whole. Returns where it lies.
    ///
    /// - Throws: `inUse` while a daemon has it.
    package static func setAside(_ path: String) throws(LogFailure) -> String {
        let place = LogPlace.resolved(path)
        try LogPlace.checkPresence(of: place)
        let lock = try LogLock(beside: place)
        defer { withExtendedLifetime(lock) {} }
        try lock.own(place)
        try finishGivingWay(at: place)
        let aside = freeAside(of: place)
        try rename(place, aside)
        for suffix in Rescue.pairedSuffixes where LogPlace.exists(place + suffix) {
            try rename(place + suffix, aside + suffix)
        }
        try Rescue.moveTail(place, to: aside)
        // The note in the lock is about what lay there.
        for suffix in ["-shm", "-lock"] { unlink(place + suffix) }
        try LogPlace.syncDirectory(of: place)
        return aside
    }

    /// Before a file is opened: completes what a crash has cut short, or forgets what had not got far enough.
    package static func finishGivingWay(at path: String) throws(LogFailure) {
        let next = next(of: path)
        guard access(next, F_OK) == 0 else { return }
        if access(path, F_OK) == 0 {
            for suffix in ["", "-wal", "-shm", "-lock"] { unlink(next + suffix) }
        } else {
            try rename(next, path)
        }
    }

    private static func rename(_ from: String, _ to: String) throws(LogFailure) {
        guard Glibc.rename(from, to) == 0 else {
            throw LogPlace.failure("can't be renamed; look at its directory", from, errno)
        }
    }
}
