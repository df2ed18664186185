import BusJSON
import BusLogic

extension Expression {
    /// An expression as a command line has it, on a state: JsonLogic where it begins with a brace, else text. `isCondition`:
    /// one in text has to be true or false.
    static func argument(_ text: String, isCondition: Bool) throws -> Expression {
        let json = text.first == "{" ? try json(text) : nil
        do {
            if let json { return try compile(json) }
            return try compile(text: text, isCondition: isCondition)
        } catch {
            throw CommandFailure(.usage, "`\(text)` is not an expression: \(error.message)")
        }
    }

    /// A condition as a request has it.
    static func condition(_ text: String) throws -> JSON {
        text.first == "{" ? try json(text) : .string(text)
    }

    private static func json(_ text: String) throws -> JSON {
        do {
            return try JSON(parsing: text)
        } catch {
            throw CommandFailure(
                .usage, "`\(text)` is not JSON: \(error). A map in text begins with an equals sign: `= {…}`.")
        }
    }
}
