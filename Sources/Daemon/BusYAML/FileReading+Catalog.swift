import BusJSON
import BusSource

extension FileReading {
    /// What the files of a directory define, one each, ascending by name; adds all that is wrong with them, in order.
    ///
    /// - Parameters:
    ///   - kind: What one is called in messages: "effect".
    ///   - most: How many there may be.
    ///   - identify: Its name, and where it is defined.
    ///   - read: Reads a file, and adds what is wrong with it.
    package static func catalog<Item>(
        of directory: String, _ kind: String, atMost most: Int, _ errors: inout [SourceError],
        identify: (Item) -> (name: String, place: Place), read: (String, inout [SourceError]) -> Item?
    ) -> [Item] {
        var items: [Item] = []
        for path in errors.collect({ () throws(SourceError) in try documents(in: directory) }) ?? [] {
            guard let item = read(path, &errors) else { continue }
            let (name, place) = identify(item)
            if let other = items.first(where: { identify($0).name == name }) {
                errors.append(
                    SourceError(
                        "The \(kind) \(name) is in \(identify(other).place.file) too; rename one of them.",
                        at: place))
            }
            items.append(item)
        }
        if items.count > most {
            errors.append(
                SourceError(
                    "There are \(items.count) \(kind)s, and at most \(most) fit in one service; remove some.",
                    at: Place(file: directory, line: 0, column: 0)))
        }
        errors = errors.inOrder
        return items.sorted { UTF8Order.precedes(identify($0).name, identify($1).name) }
    }
}
