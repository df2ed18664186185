import BusServer
import TestFiles
import Testing

/// The file of tokens.
struct TokenTests {
    private let directory = TemporaryDirectory()

    private func load(_ text: String, mode: UInt32 = 0o600) throws -> TokenTable {
        let file = try directory.write("tokens", text, mode: mode)
        return try ServerSetup.load(
            flags: ConfigurationOverrides(listen: ["tcp:127.0.0.1:0"], tokens: file),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent"
        ).tokens
    }

    @Test func aTokenStandsForItsName() throws {
        let tokens = try load("# clients\n\nphone  s3cret-of-the-phone\nlaptop\tother-token-16-b\r\n")
        #expect(tokens.names == ["phone", "laptop"])
        #expect(tokens.name(for: "s3cret-of-the-phone") == "phone")
        #expect(tokens.name(for: "other-token-16-b") == "laptop")
        for wrong in [
            "", "s3cret-of-the-phon", "s3cret-of-the-phones", "S3cret-of-the-phone", "phone",
            "s3cret-of-the-phone\u{0}",
        ] {
            #expect(tokens.name(for: wrong) == nil)
        }
    }

    static let wrong: [(String, String, String)] = [
        ("phone", ":1:1: ", "this one has 1 words"),
        ("\n phone a b", ":2:2: ", "this one has 3 words"),
        ("a 0123456789abcdef\na 0123456789abcdee", ":2:1: ", "duplicate name `a`; give each client its own."),
        ("a 0123456789abcdef\nb 0123456789abcdef", ":2:3: ", "b has the token of a"),
        ("a 0123456789abcde", ":1:3: ", "at least 16 characters"),
        ("# c\n\nphone\t\ts3cret", ":3:8: ", "at least 16 characters"),
        ("a/b one", ":1:1: ", "letters, digits"),
        ("a \u{e9}", ":1:3: ", "printable ASCII"),
        ("# none\n", ":1:1: ", "There is no token in it"),
    ]

    @Test(arguments: wrong.indices)
    func whatIsWrongIsToldWithItsLine(index: Int) throws {
        let (text, place, words) = Self.wrong[index]
        do {
            _ = try load(text)
            Issue.record("This was taken: \(text)")
        } catch let failure as StartFailure {
            #expect(failure.messages.count == 1)
            #expect(failure.messages[0].contains("/tokens\(place)"), "\(failure)")
            #expect(failure.messages[0].contains(words), "\(failure)")
        }
    }

    @Test func aSecretIsNotShown() throws {
        do {
            _ = try load("a one secretWord\nb secretWord\nc 0123456789secretWord\nd 0123456789secretWord")
            Issue.record("This was taken.")
        } catch let failure as StartFailure {
            #expect(!failure.description.contains("secretWord"))
        }
    }

    @Test(arguments: [0o640, 0o604, 0o666] as [UInt32])
    func aFileThatOthersCanReadIsRefused(mode: UInt32) throws {
        #expect(throws: StartFailure.self) { try load("a 0123456789abcdef", mode: mode) }
        #expect(throws: Never.self) { try load("a 0123456789abcdef", mode: 0o400) }
    }
}
