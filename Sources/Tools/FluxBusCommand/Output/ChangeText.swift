import BusJSON
import FluxBus

/// Changes and actions as `watch` shows them to people:
///
///     14:05:12.072  counter/kitchen  count 2 → 3
///                                    even true → false
///                   counter/hall     dropped
///
/// The time is shown once per event, the address once per store, and each changed part has its own line.
package struct ChangeText {
    private let style: Style
    private let users: UserNames
    /// Columns of the terminal; it may be resized.
    package var width: Int?
    /// The widest address so far, so that columns stay where they are.
    private var addressWidth = 0

    /// An address longer than this does not push the column further.
    private static let widestColumn = 32
    private static let timeWidth = 12

    package init(style: Style, width: Int?, users: UserNames = .none) {
        self.style = style
        self.users = users
        self.width = width
    }

    // MARK: - Changes

    /// The lines of one change; none when nothing is to be shown.
    package mutating func lines(_ change: MirrorChange, cause: JSON? = nil, at time: Int) -> [String] {
        widen(for: change.stores.map(\.address))
        var blocks: [(address: String, lines: [String])] = []
        for store in change.stores {
            blocks.append((ScreenText.safe(store.address), texts(of: store, in: change)))
        }
        var notes: [String] = []
        if change.isReset, change.stores.isEmpty { notes.append("no stores yet") }
        if let count = change.coalesced, count > 1 { notes.append("\(count) commits merged") }
        if let cause { notes.append(contentsOf: causes(cause)) }
        guard !blocks.isEmpty || !notes.isEmpty else { return [] }
        var result: [String] = []
        for block in blocks {
            for (index, text) in block.lines.enumerated() {
                let stamp = result.isEmpty ? ClockText.time(milliseconds: time) : ""
                result.append(row(stamp, index == 0 ? block.address : "", text))
            }
        }
        for note in notes {
            let stamp = result.isEmpty ? ClockText.time(milliseconds: time) : ""
            result.append(row(stamp, "", style.paint("· " + note, .faint)))
        }
        return result
    }

    private func texts(of store: MirrorChange.Store, in change: MirrorChange) -> [String] {
        if store.isDropped { return [style.paint("dropped", .old)] }
        switch (store.old, store.new) {
        case (nil, let new?):
            let word = change.isReset ? "" : change.isPartial ? "now " : "created "
            return [style.paint(word, .note) + cut(ScreenText.value(new), used: word.count)]
        case (let old?, let new?):
            let differences = StateDifference.between(old, new)
            return differences.isEmpty
                ? [style.paint("replaced by an equal state", .faint)] : differences.map(part.text)
        case (_, nil):
            // The mirror can't know the whole state: the change itself is shown.
            return [style.paint("changed ", .note) + cut(ScreenText.value(store.patch ?? .null), used: 8)]
        }
    }

    private func causes(_ cause: JSON) -> [String] {
        let by = cause["by"].map { " by " + users.identity($0) } ?? ""
        return (cause["actions"]?.array ?? []).map { action in
            let target = action["store"]?.string ?? action["type"]?.string ?? ""
            let payload = action["payload"]?.object.map {
                $0.isEmpty ? "" : " " + ScreenText.value(.object($0))
            }
            let name = action["action"]?.string ?? action["op"]?.string ?? "?"
            let returned = ScreenText.safe(CommitText.returned(action))
            return ScreenText.safe("\(target) \(name)") + (payload ?? "")
                + (returned.isEmpty ? "" : " " + returned) + by
        }
    }

    // MARK: - Actions

    /// The line of one action event.
    package mutating func line(action event: JSONObject, at time: Int) -> String {
        let target = ScreenText.safe(event["store"]?.string ?? event["type"]?.string ?? "")
        widen(for: [target])
        let name = ScreenText.safe(event["action"]?.string ?? "")
        var text = style.paint(name, .new)
        if let payload = event["payload"]?.object, !payload.isEmpty {
            text += " " + cut(ScreenText.value(.object(payload)), used: name.count + 1)
        }
        let returned = CommitText.returned(.object(event))
        if !returned.isEmpty { text += " " + ScreenText.safe(returned) }
        if let by = event["by"] { text += style.paint("  by " + users.identity(by), .faint) }
        let milliseconds = ClockText.milliseconds(event["time"]) ?? time
        return row(ClockText.time(milliseconds: milliseconds), target, text)
    }

    /// A remark that belongs to the stream, on a line of its own.
    package func note(_ text: String, at time: Int) -> String {
        row(ClockText.time(milliseconds: time), "", style.paint("· " + ScreenText.safe(text), .note))
    }

    // MARK: - Columns

    private mutating func widen(for addresses: [String]) {
        let widest = addresses.map(\.count).max() ?? 0
        addressWidth = max(addressWidth, min(widest, Self.widestColumn))
    }

    private func row(_ time: String, _ address: String, _ text: String) -> String {
        let stamp = time.isEmpty ? String(repeating: " ", count: Self.timeWidth) : style.paint(time, .faint)
        let gap = String(
            repeating: " ", count: max(0, addressWidth - address.count) + (addressWidth > 0 ? 2 : 0))
        return stamp + "  " + style.paint(address, .address) + gap + text
    }

    /// The text after the address has the columns that are left.
    private var part: DifferenceText {
        DifferenceText(style: style, room: width.map { $0 - Self.timeWidth - 2 - addressWidth - 2 })
    }

    private func cut(_ text: String, used: Int) -> String { part.cut(text, used: used) }
}
