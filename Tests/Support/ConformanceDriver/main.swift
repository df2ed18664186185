// The conformance driver of the Swift client: commands as JSON lines, each answered when it is done. `Tests/Client/ConformanceTests`
// runs the scenarios with it, as with those of the other languages.

import BusJSON
import FluxBus
import Foundation

/// A mirror, and who waits for a revision of it.
actor Watched {
    private var mirror = BusMirror()
    /// Those that nobody has taken, behind the first.
    private var changes: [JSON] = []
    private var isOver = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func follow(_ subscription: Subscription) async {
        do {
            for try await event in subscription {
                if case .change(let change) = event, mirror.revision > 0 {
                    var shown: JSONObject = ["revision": .int(change.revision)]
                    if let cause = change.cause { shown["cause"] = .object(cause) }
                    changes.append(.object(shown))
                }
                _ = try mirror.fold(event)
                wake()
            }
        } catch {}
        isOver = true
        wake()
    }

    private func wake() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    var states: JSON {
        var object: JSONObject = [:]
        for (address, state) in mirror.states { object[address] = state }
        return .object(object)
    }

    func take(_ count: Int) async -> JSON {
        while !isOver, changes.count < count { await withCheckedContinuation { waiting.append($0) } }
        defer { changes.removeFirst(min(count, changes.count)) }
        return .array(Array(changes.prefix(count)))
    }

    func reach(_ revision: Int?) async -> JSON {
        while !isOver, revision.map({ mirror.revision < $0 }) ?? true {
            await withCheckedContinuation { waiting.append($0) }
        }
        return revision == nil ? .null : states
    }
}

/// Actions, taken one after the other; a command that takes some is answered before the next one comes.
final class Taken: Sendable {
    private let subscription: Subscription

    init(_ subscription: Subscription) { self.subscription = subscription }

    func take(_ count: Int) async throws -> JSON {
        var taken: [JSON] = []
        var iterator = subscription.makeAsyncIterator()
        while taken.count < count, let event = try await iterator.next() {
            switch event {
            case .action(let event):
                var shown: JSONObject = [
                    "target": .string(event.store ?? event.type ?? ""), "action": .string(event.action),
                ]
                if let result = event.result { shown["result"] = result }
                if !event.results.isEmpty { shown["results"] = .object(event.results) }
                if let place = event.traceparent { shown["traceparent"] = .string(place) }
                taken.append(.object(shown))
            case .gap(let revision): taken.append(["gap": .int(revision)])
            default: break
            }
        }
        return .array(taken)
    }
}

actor Driver {
    private var bus: Bus?
    private var mirrors: [String: Watched] = [:]
    private var actions: [String: Taken] = [:]

    private static func target(_ text: String) -> DispatchTarget {
        text.contains("/") ? .store(text) : .type(text)
    }

    private static func requests(_ list: JSON?) -> [ActionRequest] {
        (list?.array ?? []).map { part in
            ActionRequest(
                part["action"]?.string ?? "", to: target(part["target"]?.string ?? ""),
                payload: part["payload"]?.object ?? [:])
        }
    }

    private static func shown(_ reply: DispatchReply) -> JSON {
        ["revision": .int(reply.revision), "duplicate": .bool(reply.isDuplicate)]
    }

    private func connect(_ command: JSONObject) async throws {
        var options = BusOptions()
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(10))
        options.linger = command["options"]?["linger"]?.int.map { .seconds($0) }
        options.patience = command["options"]?["patience"]?.double.map { .seconds($0) } ?? .zero
        if let seconds = command["closeTimeout"]?.int { options.closeTimeout = .seconds(seconds) }
        bus = try await Bus.connect(
            BusAddress.list([command["address"]?.string ?? ""], environment: [:]), options: options)
    }

    func carryOut(_ command: JSONObject) async throws -> JSON {
        let name = command["name"]?.string ?? ""
        let target = command["target"]?.string ?? ""
        if command["do"] == "connect" {
            try await connect(command)
            return .null
        }
        guard let bus else { throw BusError(.closed, "There is no connection yet.") }
        switch command["do"]?.string {
        case "dispatch":
            return Self.shown(
                try await bus.dispatch(
                    command["action"]?.string ?? "", to: Self.target(target),
                    payload: command["payload"]?.object ?? [:], traceparent: command["traceparent"]?.string))
        case "batch":
            return Self.shown(
                try await bus.dispatch(
                    Self.requests(command["actions"]), traceparent: command["traceparent"]?.string))
        case "drop": return Self.shown(try await bus.drop(type: target, where: command["where"] ?? true))
        case "get": return try await bus.state(of: target).state
        case "request":
            var request = BusRequest(command["op"]?.string ?? "")
            for member in command["members"]?.object ?? [:] { request.set(member.key, member.value) }
            try await bus.request(request)
        case "will": try await bus.setWill(Self.requests(command["actions"]))
        case "mirror":
            var options = Bus.SubscriptionOptions()
            options.condition = command["where"]
            options.wantsCause = command["cause"]?.bool ?? false
            let subscription = try await bus.subscribe(to: .type(target), options: options)
            let watched = Watched()
            mirrors[name] = watched
            Task { await watched.follow(subscription) }
            _ = await watched.reach(1)
        case "until": return await mirrors[name]?.reach(command["revision"]?.int ?? 0) ?? .null
        case "states": return await mirrors[name]?.states ?? .null
        case "changes": return await mirrors[name]?.take(command["count"]?.int ?? 0) ?? .null
        case "ended": return await mirrors[name]?.reach(nil) ?? .null
        case "actions":
            var options = Bus.SubscriptionOptions()
            options.wantsActions = true
            actions[name] = Taken(try await bus.subscribe(to: .type(target), options: options))
        case "take": return try await actions[name]?.take(command["count"]?.int ?? 0) ?? .null
        case "close": await bus.close()
        default: throw BusError(.unknownOperation, "This driver knows no such command.")
        }
        return .null
    }

    func answer(_ command: JSONObject) async {
        var answer: JSONObject = ["call": command["call"] ?? .null]
        do {
            answer["value"] = try await carryOut(command)
        } catch let error as BusError {
            answer["error"] = .string(error.code.rawValue)
            answer["message"] = .string(error.message)
        } catch {
            answer["error"] = .string("\(error)")
        }
        FileHandle.standardOutput.write(Data("\(JSON.object(answer))\n".utf8))
    }
}

let driver = Driver()
while let line = readLine() {
    // Detached, because this thread does nothing but read.
    if let command = try JSON(parsing: line).object { Task.detached { await driver.answer(command) } }
}
