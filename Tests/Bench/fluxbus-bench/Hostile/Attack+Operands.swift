/// The longest operands, for every member of a request and every operator of an expression.
extension Attack {
    static let operands = [
        Attack(
            name: "operators", summary: "every operator in turn, with operands that nearly fill a line",
            setUp: HostileSetUp(stores: [.init(type: operandType)]), outcome: .either,
            scripts: each { _ in
                let payload = longPayload
                let heads = operators.indices.map {
                    Array(
                        #"{"op":"dispatch","store":"\#(operandType)/s0","action":"op\#($0)","payload":"#.utf8)
                }
                return AttackScript(piece: { heads[$0.number % heads.count] + payload })
            }),
        Attack(
            name: "members", summary: "every member of a request in turn, with a value of nearly 1 MB",
            setUp: HostileSetUp(stores: [.init(type: "counter")]), outcome: .either,
            scripts: each { _ in
                let lines = members.map { member in
                    AttackLines.line(member.replacing("~", with: String(repeating: "7", count: 1_000_000)))
                }
                return AttackScript(piece: { lines[$0.number % lines.count] })
            }),
    ]

    private static let operandType = "operand"

    /// An expression for each operator, over `a`, a text of many digits, and `l`, a list of many numbers.
    private static let operators: [String] = {
        let (a, l, one) = (#"{"var":"payload.a"}"#, #"{"var":"payload.l"}"#, #"{"var":""}"#)
        func each(_ names: String, _ operands: String...) -> [String] {
            names.split(separator: " ").map { #"{"\#($0)":[\#(operands.joined(separator: ","))]}"# }
        }
        return each("var", a) + each("val exists", #""payload""#, a) + each("missing", a)
            + each("missing_some", "1", "[\(a)]") + each("if ?:", a, a, a)
            + each("or and ?? try == === != !== > >= < <= max min + - * / % merge in cat split join", a, a)
            + each("== === != !== in > < max min + * merge", l, l) + each("== < in join", a, l)
            + each("join merge in", l, a) + each("! !! throw round floor ceil abs length", a)
            + each("length keys values entries lower upper trim duration format log", a)
            + each("keys values entries max min + * cat", l)
            + each("map filter all none some sort group", l, one) + each("sort", l)
            + each("reduce", l, #"{"+":[{"var":"accumulator"},{"var":"current"}]}"#, "0")
            + each("substr", a, "1", "9") + each("replace", a, a, a) + each("replace", a, #""7""#, #""88""#)
            + [
                #"{"object":{"k":\#(a)}}"#, #"{"===":[{"literal":"7"},\#(a)]}"#,
                #"{"===":[{"preserve":"7"},\#(a)]}"#,
            ]
    }()

    /// The type whose actions do nothing but evaluate them.
    static var operandDefinition: String {
        let actions = operators.enumerated().map { number, expression in
            #"  op\#(number): { payload: { a: any, l: any }, when: {"!":[\#(expression)]} }"#
        }
        return "type: \(operandType)\ninitial: { count: 0 }\nactions:\n" + actions.joined(separator: "\n")
            + "\n"
    }

    private static var longPayload: [UInt8] {
        let digits = String(repeating: "7", count: 500_000)
        let numbers = (0..<80_000).map { String($0 % 9000 + 1000) }.joined(separator: ",")
        return Array(#"{"a":"\#(digits)","l":[\#(numbers)]}}"#.utf8) + [0x0a]
    }

    /// Requests with one long value each, where `~` stands.
    private static let members: [String] = {
        func dispatch(_ member: String) -> String {
            #"{"op":"dispatch","store":"counter/s0","action":"increment",\#(member)}"#
        }
        return [
            #"{"op":"~"}"#, #"{"op":"ping","id":"~"}"#, #"{"op":"hello","client":"~"}"#,
            #"{"op":"hello","via":"~"}"#,
            #"{"op":"hello","session":"~","linger":"1s"}"#, #"{"op":"hello","linger":"~s"}"#,
            #"{"op":"hello","token":"~"}"#, #"{"op":"hello","protocol":~}"#,
            #"{"op":"dispatch","type":"~","action":"increment"}"#,
            #"{"op":"dispatch","store":"~","action":"increment"}"#,
            #"{"op":"dispatch","store":"counter/~","action":"increment"}"#,
            #"{"op":"dispatch","store":"counter/s0","action":"~"}"#, dispatch(#""payload":{"by":"~"}"#),
            dispatch(#""payload":{"~":1}"#), dispatch(#""payload":{"by":~}"#), dispatch(#""key":"~""#),
            dispatch(#""ifRevision":~"#), dispatch(#""in":"~s""#), dispatch(#""in":"~""#),
            dispatch(#""at":"~""#), dispatch(#""timer":"~","in":"1h""#), dispatch(#""traceparent":"~""#),
            dispatch(#""~":1"#),
            dispatch(#""if":"count == ~""#), dispatch(#""ack":"~""#), dispatch(#""dryRun":"~""#),
            dispatch(#""return":"~""#),
            #"{"op":"dispatch","type":"counter","where":"count == ~","action":"increment"}"#,
            #"{"op":"create","store":"counter/x","ephemeral":"~"}"#,
            #"{"op":"create","store":"counter/x","ifMissing":"~"}"#,
            #"{"op":"create","store":"counter/x","state":{"count":~}}"#,
            #"{"op":"create","store":"counter/x","ttl":"~s"}"#,
            #"{"op":"create","store":"counter/x","version":~}"#,
            #"{"op":"get","store":"~"}"#, #"{"op":"get","match":"~/*"}"#,
            #"{"op":"history","order":"~"}"#, #"{"op":"history","by":["~"]}"#,
            #"{"op":"history","action":"~"}"#,
            #"{"op":"blame","store":"counter/s0","path":"/~"}"#,
            #"{"op":"samples","store":"counter/s0","path":"/count","most":~}"#,
            #"{"op":"get","match":"counter/~*"}"#,
            #"{"op":"get","type":"counter","select":["/~"]}"#, #"{"op":"get","type":"counter","after":"~"}"#,
            #"{"op":"get","type":"counter","limit":~}"#, #"{"op":"get","type":"counter","revision":~}"#,
            #"{"op":"get","type":"counter","time":~}"#, #"{"op":"get","type":"counter","fresh":"~"}"#,
            #"{"op":"subscribe","type":"counter","initial":"~"}"#,
            #"{"op":"subscribe","type":"counter","cause":"~"}"#,
            #"{"op":"subscribe","match":"counter/~"}"#,
            #"{"op":"subscribe","type":"counter","select":["/~"]}"#,
            #"{"op":"subscribe","type":"counter","format":"~"}"#,
            #"{"op":"subscribe","type":"counter","since":1,"epoch":"~"}"#,
            #"{"op":"history","type":"~"}"#, #"{"op":"history","since":~}"#, #"{"op":"history","until":~}"#,
            #"{"op":"cluster","leave":"~"}"#, #"{"op":"cluster","offset":"~"}"#,
            #"{"op":"backup","offset":~}"#, #"{"op":"unsubscribe","sub":~}"#,
            #"{"op":"will","actions":[{"store":"~","action":"increment"}]}"#,
            #"{"op":"cancel","store":"counter/s0","timer":"~"}"#, #"{"op":"kick","client":1,"reason":"~"}"#,
        ]
    }()
}
