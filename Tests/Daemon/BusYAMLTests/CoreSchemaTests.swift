import BusJSON
import BusSource
import BusYAML
import Testing

struct CoreSchemaTests {
    @Test(arguments: [
        ("on", "on"), ("yes", "yes"), ("no", "no"), ("Off", "Off"), ("'1'", "1"), ("\"true\"", "true"),
        ("0o8", "0o8"), ("0xg", "0xg"), ("1_000", "1_000"), ("12:30", "12:30"), ("tRUE", "tRUE"),
        ("1e", "1e"),
        (".", "."), ("-a", "-a"), ("2001-01-01", "2001-01-01"), ("<", "<"), ("'null'", "null"),
        ("+-1", "+-1"),
    ])
    func stringsStayStrings(_ text: String, _ value: String) throws {
        try #expect(LocatedValue.read("- \(text)", file: "a.yaml").json == .array([.string(value)]))
    }

    @Test(
        arguments: [
            ("true", true), ("True", true), ("FALSE", false), ("null", .null), ("Null", .null), ("~", .null),
            ("", .null),
            ("12", 12), ("-12", -12), ("+12", 12), ("012", 12), ("0o17", 15), ("0x1F", 31), ("0", 0),
            ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
            ("1.0", 1.0), ("1.", 1.0), (".5", 0.5), ("-1e3", -1000.0), ("1E-2", 0.01), ("+.5e1", 5.0),
            ("-0.0", -0.0),
        ] as [(String, JSON)])
    func plainScalarsAreResolved(_ text: String, _ value: JSON) throws {
        try #expect(LocatedValue.read("- \(text)", file: "a.yaml").json == .array([value]))
    }
}
