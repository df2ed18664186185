/// A language in which a state type can be printed, for programs that use it.
package enum TypeLanguage: String, CaseIterable, Sendable {
    case swift, typescript, python, jsonSchema

    /// The state, the actions and their payloads as a source file, or as a document of JSON Schema. The same description
    /// always gives the same text.
    package func code(for type: TypeDescription) -> String {
        switch self {
        case .swift: SwiftCode.text(of: type)
        case .typescript: TypeScriptCode.text(of: type)
        case .python: PythonCode.text(of: type)
        case .jsonSchema: SchemaDocument.text(of: type)
        }
    }

    /// What stands at the head of the file.
    func origin(_ name: String) -> [String] {
        [
            "The state type \(name), printed by `fluxbus types \(name) --\(option)`.",
            "Print it again when the definition changes; edits in here are lost then.",
        ]
    }

    private var option: String { self == .jsonSchema ? "json-schema" : rawValue }
}
