import Flux
import Testing

/// The code of the article.
struct ShoppingList: State, Equatable {
    struct Item: Equatable, Identifiable {
        let id: Int
        let name: String
        var isBought = false
    }

    fileprivate(set) var items: [Item] = []

    enum Action: Codable, Sendable {
        case add(String)
        case buy(id: Int)
        case clear
    }

    struct UnknownItem: Error {
        let id: Int
    }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to list: inout ShoppingList) throws {
            switch action {
            case .add(let name): list.items.append(Item(id: list.items.count + 1, name: name))
            case .buy(let id):
                guard let place = list.items.firstIndex(where: { $0.id == id }) else {
                    throw UnknownItem(id: id)
                }
                list.items[place].isBought = true
            case .clear: list.items = []
            }
        }
    }
}

extension Computed<ShoppingList> {
    var missing: [String] { state.items.filter { !$0.isBought }.map(\.name) }
}

extension Actions<ShoppingList> {
    func add(_ names: String...) { dispatch(names.map { .add($0) }) }
}

@Suite(.timeLimit(.minutes(10))) struct GettingStartedTests {
    @Test func gettingStarted() async throws {
        let seen = Journal<String>()
        @Sendable func print(_ value: Any) { seen.write("\(value)") }
        let list = Store<ShoppingList>(state: ShoppingList())
        list.signal(\.items.count).observe { print("\($0) items") }
        list.dispatch(.add("milk"))
        list.dispatch([.add("bread"), .add("salt"), .buy(id: 2)])
        print(list.state.items[1].isBought)  // true
        #expect(seen.entries == ["0 items", "1 items", "2 items", "3 items", "true"])
        list.select(\.missing).observe { print($0.joined(separator: ", ")) }
        list.actions.add("soap", "tea")
        #expect(
            seen.entries.suffix(5) == [
                "milk, salt", "4 items", "milk, salt, soap", "5 items", "milk, salt, soap, tea",
            ])
        list.failures.observe { print("\($0.error)") }
        list.dispatch(.buy(id: 9))  // UnknownItem(id: 9)
        let after = try await list.state(after: .clear)
        print("\(after.items.count) items")  // 0 items
        #expect(seen.entries.suffix(4) == ["UnknownItem(id: 9)", "0 items", "", "0 items"])
    }
}
