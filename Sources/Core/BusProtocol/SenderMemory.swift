/// What is remembered of one sender's lines: nothing before its first plain dispatch. Each sender has its own, so the
/// parsing time of a line reveals nothing about another client's lines.
///
/// A program sends a few kinds of dispatches, mostly in the same order. So a few templates are kept, and each knows which one
/// matched after it: that one is tried first, and the others only where the program did something else.
package struct SenderMemory: ~Copyable {
    /// More kinds take turns.
    static let mostTemplates = 4
    /// Once there are as many, of the lines without a match one in so many is kept: a client that sends another kind each time
    /// should not pay for useless templates.
    private static let missesPerTemplate: UInt8 = 8

    /// The one that matched last. What each keeps follows it in the same block.
    private(set) var template: UnsafeMutablePointer<RequestTemplate>?
    private var misses: UInt8 = 0

    package init() {}

    deinit {
        guard let first = template else { return }
        var place = first
        repeat {
            let next = place.pointee.next
            place.deallocate()
            place = next
        } while place != first
    }

    /// A template matched.
    @inline(__always)
    mutating func note(_ match: UnsafeMutablePointer<RequestTemplate>) {
        match.pointee.isUsed = true
        template = match
    }

    /// A template in which a line can be kept that none matched; nil for most lines of a sender that has enough of them.
    mutating func templateForMiss() -> UnsafeMutablePointer<RequestTemplate>? {
        guard let template else { return add() }
        misses &+= 1
        if hasRoom { return add() }
        guard misses % Self.missesPerTemplate == 1 else { return nil }
        // The one that matched last is the last to go.
        var place = template.pointee.next
        while place.pointee.isUsed {
            place.pointee.isUsed = false
            place = place.pointee.next
        }
        return place
    }

    /// Whether another template may be added: all are in use, and they are few.
    private var hasRoom: Bool {
        guard let template else { return true }
        var (place, count) = (template, 0)
        repeat {
            guard place.pointee.isKept else { return false }
            (place, count) = (place.pointee.next, count + 1)
        } while place != template
        return count < Self.mostTemplates
    }

    private mutating func add() -> UnsafeMutablePointer<RequestTemplate> {
        let room = MemoryLayout<RequestTemplate>.stride
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: room + RequestTemplate.size, alignment: MemoryLayout<RequestTemplate>.alignment)
        let made = block.bindMemory(to: RequestTemplate.self, capacity: 1)
        made.initialize(to: RequestTemplate(at: made, block + room))
        if let template {
            made.pointee.next = template.pointee.next
            template.pointee.next = made
        } else {
            template = made
        }
        return made
    }
}
