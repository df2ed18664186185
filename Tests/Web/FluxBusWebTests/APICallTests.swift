import BusJSON
import FluxBus
import FluxBusWeb
import Testing

/// What requests under `/v1` ask of the bus.
@Suite struct APICallTests {
    private func call(
        _ method: String, _ target: String, _ body: String = "", _ fields: [String: String] = [:]
    ) throws -> APICall {
        let parts = target.split(separator: "?", maxSplits: 1)
        return try APICall(
            APICall.Source(
                method, APICall.Source.segments("/" + parts[0]),
                query: APICall.Source.parameters(parts.count > 1 ? String(parts[1]) : ""),
                body: Array(body.utf8),
                fields: fields))
    }

    private func line(_ call: APICall) -> String {
        let members = call.request.members.map { "\"\($0.name)\":\($0.value.encoded)" }
        return ([call.request.op] + members).joined(separator: " ")
    }

    @Test(arguments: [
        ("GET", "stores", "", #"get "match":"*/*""#),
        (
            "HEAD", "stores?match=a/*&limit=3&after=a%2Fb&fresh", "",
            #"get "match":"a/*" "limit":3 "after":"a/b" "fresh":true"#
        ),
        (
            "GET", "stores/a?where=x+%3E+1&select=x&select=y", "",
            #"get "where":"x > 1" "select":["x","y"] "type":"a""#
        ),
        ("GET", "stores?where=%7B%22%3E%22:[1,2]%7D", "", #"get "where":{">":[1,2]} "match":"*/*""#),
        ("GET", "stores/a/b?at=17", "", #"get "revision":17 "store":"a/b""#),
        ("GET", "stores/a/b?at=1970-01-01T00:01:00.5Z", "", #"get "time":60.5 "store":"a/b""#),
        (
            "GET", "history?by=1000&by=daemon&order=newest&time=1970-01-01T00:01:00Z", "",
            #"history "order":"newest" "time":60.0 "by":["1000","daemon"]"#
        ),
        ("GET", "blame?store=a/b&path=/x", "", #"blame "store":"a/b" "path":"/x""#),
        ("GET", "blame?store=a/b&revision=7", "", #"blame "store":"a/b" "revision":7"#),
        ("GET", "blame?store=a/b&time=60", "", #"blame "store":"a/b" "time":60.0"#),
        ("GET", "blame?store=a/b&at=7", "", #"blame "store":"a/b" "revision":7"#),
        ("GET", "samples?store=a/b&path=/x&most=9", "", #"samples "store":"a/b" "path":"/x" "most":9"#),
        ("GET", "types/a", "", #"types "type":"a""#), ("GET", "stats", "", "stats"),
        ("GET", "changes?actions=true", "", #"subscribe "actions":true "match":"*/*""#),
        (
            "POST", "dispatch", #"{"id":7,"op":"dispatch","type":"a","action":"x"}"#,
            #"dispatch "action":"x" "type":"a""#
        ),
        (
            "POST", "dispatch/a/b/x?dryRun=true", #"{"y":1}"#,
            #"dispatch "store":"a/b" "action":"x" "dryRun":true "payload":{"y":1}"#
        ),
        (
            "POST", "dispatch/a/x?in=5s&timer=t", "",
            #"dispatch "type":"a" "action":"x" "in":"5s" "timer":"t""#
        ),
        ("PUT", "stores/a/b", "", #"create "store":"a/b""#),
        ("DELETE", "stores/a/b", "", #"drop "store":"a/b""#),
    ])
    func requestsBecomeThoseOfTheWire(_ method: String, _ target: String, _ body: String, _ expected: String)
        throws
    {
        #expect(try line(call(method, target, body)) == expected)
    }

    /// One that is not valid is ignored, and so it is where nothing is dispatched, or only later.
    @Test func aDispatchHasItsPlaceInATrace() throws {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let told = #" "traceparent":"\#(trace)""#
        for target in ["dispatch/a/b/x", "dispatch/a/x"] {
            #expect(try line(call("POST", target, "", ["traceparent": trace])).hasSuffix(told))
        }
        #expect(
            try line(call("POST", "dispatch", #"{"type":"a"}"#, ["traceparent": trace]))
                == #"dispatch "type":"a""# + told)
        for (target, body, field) in [
            ("dispatch/a/x", "", trace.uppercased()), ("dispatch/a/x", "", "01" + trace.dropFirst(2)),
            ("dispatch/a/x?in=5s", "", trace), ("dispatch", #"{"type":"a","at":"23:30"}"#, trace),
            ("stores/a/b", "", trace),
        ] {
            let method = target.hasPrefix("stores") ? "PUT" : "POST"
            #expect(!(try line(call(method, target, body, ["traceparent": field]))).contains("traceparent"))
        }
    }

    @Test func headerFieldsAreMembers() throws {
        let fields = ["if-match": "\"17\"", "idempotency-key": "k"]
        #expect(
            try line(call("DELETE", "stores/a/b", "", fields))
                == #"drop "store":"a/b" "ifRevision":17 "key":"k""#)
        #expect(
            try line(call("POST", "dispatch/a/b/x", "", fields))
                == #"dispatch "store":"a/b" "action":"x" "ifRevision":17 "key":"k""#)
        let put = try call("PUT", "stores/a/b", #"{"x":1}"#, fields)
        #expect(
            line(put)
                == #"dispatch "actions":[{"ifRevision":17,"op":"drop","store":"a/b"},{"op":"create","state":{"x":1},"store":"a/b"}] "key":"k""#
        )
        #expect(put.isConditional)
        #expect(try !call("PUT", "stores/a/b").isConditional)
        #expect(
            try line(call("POST", "dispatch", #"{"store":"a/b","key":"k"}"#, fields))
                == #"dispatch "key":"k" "store":"a/b" "ifRevision":17"#)
        for body in [
            #"{"type":"a"}"#, #"{"actions":[]}"#, #"{"store":"a/b","ifRevision":3}"#,
            #"{"store":"a/b","key":"mine"}"#,
        ] {
            #expect(throws: APICall.Refusal.self) {
                try call("POST", "dispatch", body, fields)
            }
        }
        #expect(
            throws: APICall.Refusal.invalid(
                BusError(
                    .invalidRequest,
                    "`If-Match` says the same as `ifRevision` of the body; send one of them.",
                    details: ["member": "If-Match"]))
        ) { try call("POST", "dispatch", #"{"store":"a/b","ifRevision":3}"#, fields) }
        let changes = try call("GET", "changes", "", ["last-event-id": "e:17:2"])
        #expect(changes.place == EventPlace(epoch: "e", revision: 17, index: 2) && changes.place?.since == 16)
        #expect(try call("GET", "changes", "", ["last-event-id": "e:17"]).place?.since == 17)
    }

    @Test(arguments: [
        ("GET", "stores?wher=x", "", "wher"), ("GET", "stores?limit=x", "", "limit"),
        ("GET", "stores?limit=1&limit=2", "", "limit"),
        ("GET", "stores?at=1&at=1970-01-01T00:01:00Z", "", "at"),
        ("GET", "stores/a/b?limit=1", "", "limit"), ("GET", "stores/a/b?where=x", "", "where"),
        ("GET", "stores?fresh=maybe", "", "fresh"), ("GET", "stores?at=yesterday", "", "at"),
        ("GET", "history?time=x", "", "time"),
        ("GET", "stores?where=%7B", "", "where"), ("GET", "stats?x", "", "x"),
        ("POST", "dispatch?x=1", "{}", "x"),
        ("POST", "dispatch", #"{"op":"drop"}"#, "op"),
    ])
    func mistakesAreNamed(_ method: String, _ target: String, _ body: String, _ member: String) {
        let refusal = #expect(throws: APICall.Refusal.self) { try call(method, target, body) }
        guard case .invalid(let error) = refusal else {
            return #expect(Bool(false), "\(String(describing: refusal))")
        }
        #expect(error.code == .invalidRequest && error.details["member"]?.string == member, "\(error)")
    }

    @Test func anyTagOfAListIsKnown() {
        for field in ["\"17\"", "W/\"17\"", "\"1\", \"17\"", "W/\"1\",\tW/\"17\"", "*"] {
            #expect(APICall.isKnown("17", in: field), "\(field)")
        }
        for field in [nil, "", "17", "\"1\"", "w/\"17\"", "\"17", "\"117\""] {
            #expect(!APICall.isKnown("17", in: field), "\(field ?? "none")")
        }
    }

    @Test func whatIsNotThereIsSaid() {
        for target in [
            "nothing", "stores/a/b/c", "/stores", "stores//a/b", "dispatch/a", "dispatch/a/b/c/d", "stats/x",
        ] {
            for method in ["GET", "POST"] where !(target.hasPrefix("stores/a") && method == "POST") {
                let refusal = #expect(throws: APICall.Refusal.self) { try call(method, target) }
                #expect(refusal == .notFound || target == "stats/x", "\(method) \(target)")
            }
        }
        let methods = [
            ("GET", "dispatch", "POST"), ("POST", "stats", "GET, HEAD"), ("POST", "stores/a", "GET, HEAD"),
            ("HEAD", "changes", "GET"), ("POST", "changes", "GET"),
            ("POST", "stores/a/b", "GET, HEAD, PUT, DELETE"),
        ]
        for (method, target, allowed) in methods {
            #expect(throws: APICall.Refusal.methods(allowed)) { try call(method, target) }
        }
        for (body, target) in [("{", "dispatch"), ("[]", "dispatch/a/x"), ("7", "dispatch")] {
            let refusal = #expect(throws: APICall.Refusal.self) { try call("POST", target, body) }
            guard case .invalid(let error) = refusal else { continue }
            #expect(error.code == .parseError)
        }
        for target in ["dispatch", "dispatch/a/x"] {
            let refusal = #expect(throws: APICall.Refusal.self) {
                try call("POST", target, String(repeating: "[", count: 100))
            }
            guard case .invalid(let error) = refusal else { continue }
            #expect(error.code == .tooLarge)
        }
        for tag in ["17", "\"x\"", "W/\"17\"", "", "\"", "\"+17\"", "\"-1\"", "\"1\",\"2\""] {
            #expect(throws: APICall.Refusal.self) { try call("DELETE", "stores/a/b", "", ["if-match": tag]) }
        }
        #expect(throws: Never.self) { try call("PUT", "stores/a/b", "", ["if-none-match": "*"]) }
        for (method, fields) in [
            ("PUT", ["if-none-match": "\"17\""]), ("DELETE", ["if-none-match": "*"]),
            ("PUT", ["if-none-match": "*", "if-match": "\"17\""]),
        ] {
            #expect(throws: APICall.Refusal.self) { try call(method, "stores/a/b", "", fields) }
        }
        for id in ["x", "e:", "e:x", ":7", "e:7:x", "e:-1", "e:1:2:3"] {
            #expect(throws: APICall.Refusal.self) { try call("GET", "changes", "", ["last-event-id": id]) }
        }
    }
}
