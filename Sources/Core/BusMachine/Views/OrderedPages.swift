/// Elements in an order, all different in it: found, added and taken away by comparing each with a few others.
///
/// They lie on pages, one behind the other, each with up to so many elements that moving them costs no more than a few
/// comparisons do.
package struct OrderedPages<Element> {
    private static var pageSize: Int { 128 }

    private var pages: [[Element]] = []

    package init() {}

    package var isEmpty: Bool { pages.isEmpty }
    package var count: Int { pages.reduce(0) { $0 + $1.count } }
    package var first: Element? { pages.first?.first }
    package var last: Element? { pages.last?.last }

    /// The first ones, at most so many.
    package func prefix(_ count: Int) -> [Element] {
        var found: [Element] = []
        for page in pages where found.count < count { found += page.prefix(count - found.count) }
        return found
    }

    /// The first element for which it holds, where it does for all behind that one, too.
    package func first(where isBehind: (Element) -> Bool) -> Element? {
        var (low, high) = (0, pages.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(pages[middle][pages[middle].count - 1]) { high = middle } else { low = middle + 1 }
        }
        if low == pages.count { return nil }
        let page = pages[low]
        (low, high) = (0, page.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(page[middle]) { high = middle } else { low = middle + 1 }
        }
        return page[low]
    }

    /// Adds an element. True if it is among the first `count` ones now.
    package mutating func insert(
        _ element: Element, within count: Int = 0, by precedes: (Element, Element) -> Bool
    ) -> Bool {
        if pages.isEmpty {
            pages.append([element])
            return count > 0
        }
        let page = self.page(of: element, by: precedes)
        let place = Self.place(of: element, in: pages[page], by: precedes)
        pages[page].insert(element, at: place)
        let isWithin = isWithin(count, page, place)
        if pages[page].count > Self.pageSize {
            let half = Array(pages[page].suffix(Self.pageSize / 2))
            pages[page].removeLast(half.count)
            pages.insert(half, at: page + 1)
        }
        return isWithin
    }

    /// Takes an element away, which is there. True if it was among the first `count` ones.
    package mutating func remove(
        _ element: Element, within count: Int = 0, by precedes: (Element, Element) -> Bool
    ) -> Bool {
        let page = self.page(of: element, by: precedes)
        let place = Self.place(of: element, in: pages[page], by: precedes)
        precondition(
            place < pages[page].count && !precedes(element, pages[page][place]),
            "What is taken away from an order is in it.")
        let isWithin = isWithin(count, page, place)
        pages[page].remove(at: place)
        if pages[page].isEmpty {
            pages.remove(at: page)
        } else if page > 0, pages[page - 1].count + pages[page].count < Self.pageSize / 2 {
            // Few elements on many pages would be looked through one by one.
            pages[page - 1] += pages[page]
            pages.remove(at: page)
        }
        return isWithin
    }

    private func isWithin(_ count: Int, _ page: Int, _ place: Int) -> Bool {
        var before = place
        for earlier in pages[..<page] where before < count { before += earlier.count }
        return before < count
    }

    /// The last page that begins with an element that is not behind this one.
    private func page(of element: Element, by precedes: (Element, Element) -> Bool) -> Int {
        var (low, high) = (0, pages.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if precedes(element, pages[middle][0]) { high = middle } else { low = middle }
        }
        return low
    }

    private static func place(
        of element: Element, in page: [Element], by precedes: (Element, Element) -> Bool
    ) -> Int {
        var (low, high) = (0, page.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(page[middle], element) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
