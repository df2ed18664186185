import ArgumentParser
import BusDefinitions
import BusSource
import Glibc

/// `fluxbus types new`: a commented file to begin a state type with. It loads, and its tests pass.
package struct TypesNewCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Write a commented file to begin a state type with, tests included.",
        discussion: """
            Examples:
              fluxbus types new lamp draft && fluxbus types test draft/lamp.yaml

            The file is NAME.yaml in the directory, which is made if it is missing; a file that exists is left alone. It loads as \
            it is, and its tests pass: change one thing after the other, with `fluxbus dev` beside it.
            """)

    @Argument(help: "The type's name: a lower-case letter, then letters, digits, _ and -.")
    package var name: String

    @Argument(help: "Its directory.", completion: .directory)
    package var directory = "."

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let text = Self.text(for: name)
        do {
            _ = try TypeCatalog([.init(name: "\(name).yaml", bytes: Array(text.utf8))])
        } catch {
            throw CommandFailure(.usage, error.message)
        }
        let path = "\(directory)/\(name).yaml"
        mkdir(directory, 0o755)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .usage,
                "\(path) can't be made: \(String(cString: strerror(errno))); choose another name or directory."
            )
        }
        let file = Channel(descriptor: descriptor)
        defer { close(descriptor) }
        try file.write(text)
        try file.flush()
        if session.console.form == .lines {
            try session.console.line(["file": .string(path)])
        } else {
            try session.console.line("\(path): try it with `fluxbus types test \(path)`")
        }
        return .success
    }

    package static func text(for name: String) -> String {
        """
        \(FileSchema.type.comment)
        # \(name): say here what it is for, and who uses it. `fluxbus types test` runs the tests at the end, `fluxbus dev` checks
        # while you write, and `man fluxbus-types` describes every word.
        type: \(name)
        summary: Say in one sentence what it is.

        # What every state is: the name of a type (boolean, integer, number, string, array, object, any), or an object of words.
        state:
          isOn: { type: boolean, default: false }
          level: { type: integer, minimum: 0, maximum: 100, default: 50, summary: In percent. }

        # Worked out from the state. A text here is an expression; its names are the members above.
        computed:
          isBright: isOn && level > 60

        actions:
          switch:
            summary: On to off, and off to on.
            toggle: [isOn]
          setLevel:
            summary: Make it brighter or darker.
            # What a dispatch gives. `string?` may be left out, and a default is filled in.
            payload: { to: { type: integer, minimum: 0, maximum: 100 } }
            # Where this does not hold, the dispatch is rejected with the reason.
            require:
              - if: state.isOn
                else: it is off; switch it on first
            # A text that begins with = is an expression; its names are state, payload, store and meta.
            set: { level: = payload.to }

        tests:
          - name: it can be dimmed when it is on
            given: { isOn: true }
            dispatch: setLevel
            payload: { to: 80 }
            state: { level: 80, isBright: true }
          - name: it can't be dimmed when it is off
            dispatch: setLevel
            payload: { to: 80 }
            rejected: switch it on first

        """
    }
}
