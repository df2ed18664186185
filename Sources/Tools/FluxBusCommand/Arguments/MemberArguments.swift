import ArgumentParser
import BusJSON
import FluxBus

/// The members of a payload or state, as written on a command line: `key=string`, `key:=json`, a whole JSON object,
/// or - for an object on standard input. They add up; one member given twice is a mistake. `MemberKinds` finds out which of
/// the strings are meant to be more.
package enum MemberArguments {
    /// Parses all of them. Mistakes of the command line are usage errors; bad data from `input` is refused data.
    package static func parse(_ arguments: [String], input: Int32) throws -> JSONObject {
        var members = JSONObject()
        var tookInput = false
        for argument in arguments {
            if argument == "-" {
                guard !tookInput else {
                    throw CommandFailure(.usage, "Standard input can be read only once: give one `-`.")
                }
                tookInput = true
                try add(object(from: input), to: &members)
            } else if argument.first == "{" {
                try add(object(argument), to: &members)
            } else {
                let (key, value) = try member(argument)
                try add(JSONObject(sorted: [JSONObject.Member(key: key, value: value)]), to: &members)
            }
        }
        return members
    }

    /// The members written as `key=text` whose text is also JSON of another kind, such as `brightness=40`.
    static func ambiguous(_ arguments: [String]) -> [(key: String, text: String, value: JSON)] {
        arguments.compactMap { argument in
            guard argument.first != "{", argument != "-", let (key, member) = try? member(argument),
                let text = member.string, argument == "\(key)=\(text)",
                let value = try? JSON(parsing: text), value.string == nil
            else { return nil }
            return (key, text, value)
        }
    }

    /// The bus's error about a payload or a new state, with how to write the member it is about: `brightness=40` is a text,
    /// and `brightness:=40` the number.
    package static func explained(_ error: BusError, of arguments: [String]) -> BusError {
        for (key, text, _) in ambiguous(arguments) where isAboutText(error, in: key) {
            return BusError(
                error.code, error.message.endingSentence(with: "write \(key):=\(text)"),
                details: error.details)
        }
        return error
    }

    private static func isAboutText(_ error: BusError, in key: String) -> Bool {
        switch error.code {
        case .invalidPayload: error.message.contains("payload.\(key), not a string")
        case .invalidRequest:
            error.message.hasPrefix("\(key) must be ") && error.message.contains(", not a string")
        default: false
        }
    }

    private static func add(_ more: JSONObject, to members: inout JSONObject) throws {
        for member in more {
            guard members[member.key] == nil else {
                throw CommandFailure(.usage, "Duplicate key `\(member.key)`: leave one out.")
            }
            members[member.key] = member.value
        }
    }

    /// One `key=string` or `key:=json`.
    static func member(_ argument: String) throws -> (key: String, value: JSON) {
        guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else {
            throw CommandFailure(
                .usage,
                "`\(argument)` is not a member: write key=value, key:=json, or a JSON object in quotes.")
        }
        let text = String(argument[argument.index(after: equals)...])
        let before = argument.index(before: equals)
        guard argument[before] == ":" else { return (String(argument[..<equals]), .string(text)) }
        let key = String(argument[..<before])
        guard !key.isEmpty else {
            throw CommandFailure(.usage, "`\(argument)` has no key: write key:=json.")
        }
        do throws(JSONError) {
            return (key, try JSON(parsing: text))
        } catch {
            // For a word the reason adds nothing; for an object it does.
            let reason = text.first.map { "{[\"".contains($0) } ?? false ? " because \(error)" : ""
            throw CommandFailure(
                .usage, "`\(text)` is not JSON\(reason): write \(key)=\(text) if a string is meant.")
        }
    }

    private static func object(_ text: String) throws -> JSONObject {
        do throws(JSONError) {
            // Text that starts with a brace is an object or no JSON at all.
            return try JSON(parsing: text).object ?? [:]
        } catch {
            throw CommandFailure(.usage, "`\(text)` is not a JSON object: \(error).")
        }
    }

    private static func object(from input: Int32) throws -> JSONObject {
        // A line to the bus may have 1 MiB by default; input far above that is a mistake.
        let bytes = try FileReader.readAll(input, limit: 64 << 20, name: "standard input")
        let value: JSON
        do throws(JSONError) {
            value = try JSON(parsing: bytes)
        } catch {
            throw CommandFailure(.refused, "Standard input is not a JSON object: \(error).")
        }
        guard let object = value.object else {
            throw CommandFailure(
                .refused, "Standard input is not a JSON object: it is of kind \(value.kind).")
        }
        return object
    }
}

/// The states, and the parts of them, for every command that shows some.
package struct StateArguments: ParsableArguments {
    @Argument(
        help:
            "A store (counter/kitchen), a type (counter) or a pattern ('counter/*'); every store without one.",
        completion: .custom(BusCompletion.targets))
    package var target: String = "*/*"

    @Option(
        help: ArgumentHelp(
            "Only this part of the states, a JSON Pointer; may be repeated.", valueName: "pointer"))
    package var select: [String] = []

    package init() {}
}
