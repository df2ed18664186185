/// Puts things that depend on each other into an order, or finds the circle that makes it impossible.
enum DependencyOrder {
    case order([Int])
    /// Each depends on the next; the last is the first again.
    case cycle([Int])

    /// `edges[i]` are the things that must come before `i`. An order that already fits is kept.
    static func sort(_ edges: [[Int]]) -> DependencyOrder {
        enum Mark { case new, open, done }
        var marks = [Mark](repeating: .new, count: edges.count)
        var order: [Int] = []
        // The way to where the search stands, with the next edge to follow: recursion without its depth.
        var way: [(thing: Int, next: Int)] = []
        for start in edges.indices where marks[start] == .new {
            way.append((start, 0))
            marks[start] = .open
            while let (thing, next) = way.last {
                guard next < edges[thing].count else {
                    marks[thing] = .done
                    order.append(thing)
                    way.removeLast()
                    continue
                }
                way[way.count - 1].next += 1
                let target = edges[thing][next]
                switch marks[target] {
                case .done: break
                case .new:
                    marks[target] = .open
                    way.append((target, 0))
                case .open:
                    let from = way.firstIndex { $0.thing == target }!
                    return .cycle(way[from...].map(\.thing) + [target])
                }
            }
        }
        return .order(order)
    }
}
