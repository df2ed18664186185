import BusJSON
import BusLogic
import BusProtocol

extension Expression {
    /// An expression as a command line has it, on a state: JsonLogic where it is an object in JSON with an operator, else text.
    /// `isCondition`: one in text has to be true or false.
    static func argument(_ text: String, isCondition: Bool) throws -> Expression {
        let json = jsonLogic(text)
        do {
            if let json { return try compile(json) }
            return try compile(text: text, isCondition: isCondition)
        } catch {
            throw CommandFailure(.usage, "`\(text)` is not an expression: \(error.message)")
        }
    }

    /// A condition as a request has it.
    static func condition(_ text: String) throws -> JSON {
        guard text.first == "{" else { return .string(text) }
        do {
            return try JSON(parsing: text)
        } catch {
            throw CommandFailure(
                .usage, "`\(text)` is not JSON: \(error). A map in text begins with an equals sign: `= {…}`.")
        }
    }

    /// A text that is an object in JSON, unless its only member can't be meant as an operator: that is a map.
    private static func jsonLogic(_ text: String) -> JSON? {
        guard text.first == "{", let json = try? JSON(parsing: text), let object = json.object else {
            return nil
        }
        guard object.count == 1, let name = object.keys.first else { return json }
        return operators.contains(name) || nearestWord(to: name, among: operators) != nil ? json : nil
    }
}
