import BusMachine
import TestSupport
import Testing

/// An order that elements join and leave is that of a sorted list.
struct OrderedPagesTests {
    @Test(arguments: [1, 10, 1000, 100_000]) func anOrderIsThatOfASortedList(_ span: Int) {
        var generator = SeededGenerator(seed: UInt64(span))
        var pages = OrderedPages<Int>()
        var list: [Int] = []
        for step in 0..<6000 {
            let element = Int.random(in: 0..<span, using: &generator)
            let place = list.firstIndex { $0 >= element } ?? list.count
            let isThere = place < list.count && list[place] == element
            // First it grows, in the end it shrinks to nothing.
            if isThere ? step > 3000 || generator.oneIn(3) : step > 4500 {
                guard let taken = isThere ? element : list.randomElement(using: &generator) else { continue }
                let index = list.firstIndex(of: taken)!
                list.remove(at: index)
                #expect(pages.remove(taken, within: 10, by: <) == (index < 10))
            } else if !isThere {
                list.insert(element, at: place)
                #expect(pages.insert(element, within: 10, by: <) == (place < 10))
            }
            #expect(pages.first == list.first && pages.isEmpty == list.isEmpty)
            if step % 50 == 0 {
                #expect(pages.prefix(.max) == list)
                #expect(pages.prefix(10) == Array(list.prefix(10)))
            }
        }
        while let last = list.popLast() { _ = pages.remove(last, by: <) }
        #expect(pages.isEmpty)
    }
}
