import Glibc

/// Transfers between accounts as the published comparison of SpacetimeDB makes them (keynote-2): of two of 100,000 accounts, one
/// pays the other, and both are written or, where the balance is too low, neither. Accounts are drawn by Zipf's law: with the
/// exponent 0 all alike, with 1.5 the first of them is in four of ten.
package struct Transfers: Equatable, Sendable {
    package let exponent: Double
    package let accounts: Int

    /// What every account begins with, and the largest amount: far from the lowest balance in any run.
    package static let balance = 10_000_000
    private static let amounts = 1...1000

    package static let type = "account"
    package static let definition = """
        {"type":"account","expressions":"cel","initial":{"balance":\(balance)},"actions":{
          "withdraw":{"payload":{"amount":"integer"},
            "require":[{"if":"state.balance >= payload.amount","else":"the balance is too low"}],
            "set":{"balance":"= state.balance - payload.amount"}},
          "deposit":{"payload":{"amount":"integer"},"set":{"balance":"= state.balance + payload.amount"}}}}
        """

    package init(exponent: Double, accounts: Int) {
        self.exponent = exponent
        self.accounts = accounts
    }

    /// So many lines, without their ends; the names of accounts begin with `prefix` and end with a number. Each transfer is there
    /// in both directions, so that nobody is poorer after all of them, however often they are sent.
    package func lines(_ count: Int, prefix: String) -> [String] {
        var sums: [Double] = []
        sums.reserveCapacity(accounts)
        for rank in 1...accounts { sums.append((sums.last ?? 0) + pow(Double(rank), -exponent)) }
        /// The first whose sum is above a random share of all.
        func draw() -> Int {
            let share = Double.random(in: 0..<sums[accounts - 1])
            var (low, high) = (0, accounts - 1)
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] > share { high = middle } else { low = middle + 1 }
            }
            return low
        }
        let amounts = Self.amounts
        return (0..<count / 2).flatMap { number in
            let payer = draw()
            var payee = draw()
            while payee == payer { payee = draw() }
            let amount = Int.random(in: amounts)
            func line(_ payer: Int, _ payee: Int, _ id: Int) -> String {
                func step(_ account: Int, _ action: String) -> String {
                    let store = "\(Self.type)/\(prefix)\(account)"
                    return #"{"store":"\#(store)","action":"\#(action)","payload":{"amount":\#(amount)}}"#
                }
                return
                    #"{"op":"dispatch","id":\#(id),"actions":[\#(step(payer, "withdraw")),\#(step(payee, "deposit"))]}"#
            }
            return [line(payer, payee, 100_000 + number), line(payee, payer, 200_000 + number)]
        }.shuffled()
    }
}
