import TestSupport

/// One seed: random rules, and random steps in two worlds until the guest has sent enough requests.
struct WorldRun {
    let seed: UInt64
    let rules: RandomRules
    private let outbox: Int

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        self.seed = seed
        rules = RandomRules(&random)
        outbox = random.oneIn(3) ? 700 : 4 << 20
    }

    /// What a guest was told differently, with the fewest steps that show it.
    struct Found: Error, CustomStringConvertible {
        let seed: UInt64
        let step: Int
        let leak: TwoWorlds.Leak
        let rules: String
        let transcript: [String]

        var description: String {
            "Seed \(seed), step \(step): \(leak)\n\(rules)\n\(transcript.joined(separator: "\n"))"
        }
    }

    /// Gives how many requests there were.
    func run(requests: Int) throws -> Int {
        var random = SeededGenerator(seed: seed &+ 0x5eed)
        let worlds = try TwoWorlds(rules, outbox: outbox)
        var guest = GuestRequests(rules)
        var steps: [TwoWorlds.Step] = []
        do {
            while worlds.requests < requests {
                let step = guest.step(worlds, &random)
                steps.append(step)
                try worlds.run(step)
            }
        } catch let leak as TwoWorlds.Leak {
            let kept = fewest(of: steps, to: leak.subject) { steps in
                let attempt = attempt(steps)
                return (attempt.leak?.subject, attempt.made)
            }
            let (transcript, found, _) = attempt(kept)
            throw Found(
                seed: seed, step: steps.count, leak: found ?? leak, rules: rules.yaml, transcript: transcript)
        }
        return worlds.requests
    }

    private func attempt(
        _ steps: [TwoWorlds.Step]
    ) -> (transcript: [String], leak: TwoWorlds.Leak?, made: Int) {
        guard let worlds = try? TwoWorlds(rules, outbox: outbox) else { return ([], nil, 0) }
        var made = 0
        do {
            for step in steps {
                made += 1
                try worlds.run(step)
            }
        } catch { return (worlds.transcript, error as? TwoWorlds.Leak, made) }
        return (worlds.transcript, nil, made)
    }
}
