import BusHistory
import BusLog

/// The log's file as the source of the past.
package struct LogPast: PastSource {
    private let reader: LogReader

    package init(_ reader: LogReader) { self.reader = reader }

    init(path: String) throws(PastFailure) {
        do throws(LogFailure) {
            reader = try LogReader(path: path)
        } catch {
            throw PastFailure(error)
        }
    }

    package func snapshots() throws(PastFailure) -> [Int] {
        do throws(LogFailure) {
            return try reader.snapshots().map(\.revision).sorted()
        } catch {
            throw PastFailure(error)
        }
    }

    package func snapshot(_ revision: Int) throws(PastFailure) -> [UInt8] {
        do throws(LogFailure) {
            return try reader.snapshot(revision)
        } catch {
            throw PastFailure(error)
        }
    }

    package func forEachGroup(
        after revision: Int, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure) {
        var failure: PastFailure?
        do throws(LogFailure) {
            try reader.forEachGroup(after: revision) { (group) throws(LogFailure) in
                do throws(PastFailure) {
                    return try body(
                        PastGroup(first: group.first, last: group.last, entries: group.entries))
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw PastFailure(error)
        }
        if let failure { throw failure }
    }

    package func lastRevision(by time: Int) throws(PastFailure) -> Int {
        do throws(LogFailure) {
            return try reader.lastRevision(by: time)
        } catch {
            throw PastFailure(error)
        }
    }
}

extension PastFailure {
    init(_ failure: LogFailure) {
        let kind: Kind =
            switch failure.kind {
            case .lost: .gone
            case .damaged, .notALog, .newerForm: .damaged
            case .inUse, .readOnly, .full, .io: .unreadable
            }
        self.init(kind, failure.message)
    }
}
