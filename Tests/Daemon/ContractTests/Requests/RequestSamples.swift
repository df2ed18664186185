import TestSupport

/// The requests of the table, each with the situations it is tried in. `%` stands for a number that no other has.
enum RequestSamples {
    /// What was before: lines of an operator and lines of the client.
    struct Situation: Sendable {
        let name: String
        var byOperator: [String] = []
        var byClient: [String] = []
        /// The client has sent the request before.
        var isRepeated = false
    }

    static let situations: [Situation] = [
        Situation(name: "absent"),
        Situation(name: "present", byOperator: [create]),
        Situation(name: "own", byClient: [create]),
        Situation(name: "ephemeral", byOperator: [#"{"op":"create","store":"note/x%","ephemeral":true}"#]),
        Situation(name: "changed", byOperator: [create, add, add]),
        Situation(
            name: "large", byOperator: [#"{"op":"create","store":"note/x%","state":{"count":7}}"#]),
        Situation(name: "timer", byOperator: [create, timer]),
        Situation(name: "own timer", byOperator: [create], byClient: [timer]),
        Situation(name: "again", byOperator: [create], isRepeated: true),
        Situation(
            name: "key of another", byOperator: [create],
            byClient: [#"{"op":"dispatch","store":"note/x%","action":"add","key":"k%"}"#]),
    ]

    private static let create = #"{"op":"create","store":"note/x%"}"#
    private static let add = #"{"op":"dispatch","store":"note/x%","action":"add"}"#
    private static let timer = #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"timer":"t"}"#

    /// Requests, and the names of the situations.
    static var all: [(line: String, situations: [String])] {
        samples.map { ($0, ["absent", "changed"]) } + meant.map { ($0, situations.map(\.name)) }
            + malformed.map { ($0, ["absent", "present"]) }
    }

    /// The samples, with a store for each; reloads and the likes change what others find.
    private static var samples: [String] {
        SampleRequests.all.map {
            $0.replacing("note/a", with: "note/x%").replacing("\"k1\"", with: "\"k%\"")
                .replacing("\"k2\"", with: "\"k%\"").replacing("\"k3\"", with: "\"k%\"")
        }
    }

    /// Each committing operation as it should be, for all situations.
    private static let meant = [
        #"{"op":"dispatch","store":"note/x%","action":"add"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","key":"k%"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"put","payload":{"value":1},"ifRevision":1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"refuse"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"alarm"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","dryRun":true}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","ack":false}"#,
        #"{"op":"dispatch","type":"note","action":"add"}"#,
        #"{"op":"dispatch","type":"*","action":"add","key":"k%"}"#,
        #"{"op":"dispatch","actions":[{"store":"note/x%","action":"add"},{"type":"note","action":"add"}],"key":"k%"}"#,
        #"{"op":"dispatch","actions":[{"store":"note/x%","action":"add"},{"store":"note/x%","action":"refuse"}]}"#,
        #"{"op":"dispatch","actions":[{"store":"note/main","action":"add"},{"store":"note/x%","action":"none"}]}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"timer":"t","key":"k%"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"ifRevision":1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"timer":"u"}"#,
        #"{"op":"dispatch","type":"note","action":"add","at":1795000100}"#,
        #"{"op":"create","store":"note/x%"}"#,
        #"{"op":"create","store":"note/x%","state":{"count":2},"key":"k%"}"#,
        #"{"op":"create","store":"note/x%","state":{"count":5}}"#,
        #"{"op":"create","store":"note/x%","ephemeral":true,"ifMissing":true}"#,
        #"{"op":"create","store":"note/x%","ttl":60,"key":"k%"}"#,
        #"{"op":"drop","store":"note/x%"}"#, #"{"op":"drop","store":"note/x%","key":"k%"}"#,
        #"{"op":"drop","type":"note","where":"store == 'note/x%'"}"#,
        #"{"op":"drop","type":"note","where":"store == 'note/x%' && count < 2","key":"k%"}"#,
        #"{"op":"revert","store":"note/x%","revision":1}"#,
        #"{"op":"revert","store":"note/x%","revision":#}"#,
        #"{"op":"revert","store":"note/x%","revision":#,"ifRevision":#}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","if":"count < 2","return":"changes"}"#,
        #"{"op":"dispatch","actions":[{"op":"create","store":"note/x%"},{"store":"note/x%","action":"add","if":"count == 0"},{"op":"drop","store":"note/x%"}]}"#,
        #"{"op":"dispatch","actions":[{"op":"create","store":"note/x%","ifMissing":true},{"store":"note/x%","action":"add","ifRevision":#}],"key":"k%"}"#,
        #"{"op":"drop","store":"note/x%","if":"count == 0","ifRevision":#}"#,
        #"{"op":"cancel","store":"note/x%","timer":"t"}"#,
        #"{"op":"cancel","store":"note/x%","timer":"t","key":"k%"}"#,
        #"{"op":"cancel","store":"note/x%","timer":"u"}"#,
        #"{"op":"will","actions":[{"store":"note/x%","action":"add"}]}"#,
        #"{"op":"get","store":"note/x%"}"#,
        #"{"op":"subscribe","store":"note/x%","initial":true}"#,
    ]

    /// What is wrong in its form, also in more than one way: which error wins can be seen.
    private static let malformed = [
        #"{"op":"dispatch"}"#, #"{"op":"dispatch","store":"note/x%"}"#, #"{"op":"dispatch","action":"add"}"#,
        #"{"op":"dispatch","store":"note/x%","type":"note","action":"add"}"#,
        #"{"op":"dispatch","store":5,"action":"add"}"#, #"{"op":"dispatch","store":"x","action":"add"}"#,
        #"{"op":"dispatch","store":"note/x%","action":7}"#,
        #"{"op":"dispatch","store":"note/x%","action":"none"}"#,
        #"{"op":"dispatch","store":"none/x%","action":"add"}"#,
        #"{"op":"dispatch","type":"none","action":"add"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","payload":5}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","payload":{"by":"x"}}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","payload":{"more":1}}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","key":""}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","key":5}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","key":"k%","dryRun":true}"#,
        #"{"op":"dispatch","store":"note/x%","action":"none","key":5}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","key":"k%","epoch":"e"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","key":"k%","after":-1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","after":1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","ifRevision":"x"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"none","ifRevision":"x","key":5}"#,
        #"{"op":"dispatch","type":"note","action":"add","ifRevision":1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","dryRun":1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","ack":1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","dryRun":true,"ack":false}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","timer":"t"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"at":1795000100}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":-1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":"soon"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","at":1}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"timer":""}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"timer":"@5"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"timer":5,"key":5}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","in":60,"dryRun":true}"#,
        #"{"op":"dispatch","store":"note/x%","action":"none","in":60}"#,
        #"{"op":"dispatch","actions":[{"store":"note/x%","action":"add"}],"in":60}"#,
        #"{"op":"dispatch","store":"note/x%","action":"none","if":5}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","return":"x"}"#,
        #"{"op":"dispatch","actions":[{"op":"none","store":"note/x%"}]}"#,
        #"{"op":"dispatch","actions":[]}"#, #"{"op":"dispatch","actions":5}"#,
        #"{"op":"dispatch","actions":[5]}"#, #"{"op":"dispatch","actions":[{"store":"note/x%"}]}"#,
        #"{"op":"dispatch","actions":[{"store":"note/x%","action":"add"}],"store":"note/x%"}"#,
        #"{"op":"dispatch","store":"note/x%","action":"add","state":{}}"#,
        #"{"op":"create"}"#, #"{"op":"create","store":5}"#, #"{"op":"create","store":"x"}"#,
        #"{"op":"create","store":"none/x%"}"#, #"{"op":"create","store":"note/a b"}"#,
        #"{"op":"create","store":"none/x%","state":5}"#, #"{"op":"create","store":"note/x%","state":5}"#,
        #"{"op":"create","store":"note/x%","state":{"count":"x"}}"#,
        #"{"op":"create","store":"note/x%","state":{"double":2}}"#,
        #"{"op":"create","store":"note/x%","state":{"other":2}}"#,
        #"{"op":"create","store":"note/x%","version":1}"#,
        #"{"op":"create","store":"note/x%","version":1,"state":{}}"#,
        #"{"op":"create","store":"note/x%","version":9,"state":{}}"#,
        #"{"op":"create","store":"note/x%","version":0,"state":{}}"#,
        #"{"op":"create","store":"note/x%","version":0,"ephemeral":5,"ttl":"x","key":5}"#,
        #"{"op":"create","store":"note/x%","ephemeral":5}"#,
        #"{"op":"create","store":"note/x%","ephemeral":5,"ttl":"x"}"#,
        #"{"op":"create","store":"note/x%","ifMissing":5}"#, #"{"op":"create","store":"note/x%","ttl":"x"}"#,
        #"{"op":"create","store":"note/x%","ttl":0}"#,
        #"{"op":"create","store":"note/x%","ttl":"x","key":5}"#,
        #"{"op":"create","store":"note/x%","key":""}"#,
        #"{"op":"create","store":"note/x%","key":5,"state":{"count":"x"}}"#,
        #"{"op":"create","store":"note/x%","type":"note"}"#,
        #"{"op":"create","store":"note/x%","state":{"value":"\#(String(repeating: "v", count: 400))"}}"#,
        #"{"op":"drop"}"#, #"{"op":"drop","store":5}"#, #"{"op":"drop","store":"x"}"#,
        #"{"op":"drop","store":"none/x%"}"#, #"{"op":"drop","store":"note/x%","key":""}"#,
        #"{"op":"drop","store":"note/main","key":5}"#, #"{"op":"drop","store":"note/x%","type":"note"}"#,
        #"{"op":"drop","type":"note"}"#, #"{"op":"drop","where":"true"}"#,
        #"{"op":"drop","store":"note/x%","where":"true"}"#, #"{"op":"drop","type":"note","where":5}"#,
        #"{"op":"drop","type":"none","where":"true"}"#, #"{"op":"drop","type":"*","where":"true"}"#,
        #"{"op":"drop","type":"note","where":"store == 'note/x%'","ifRevision":1}"#,
        #"{"op":"dispatch","actions":[{"op":"drop","type":"note"}]}"#,
        #"{"op":"revert"}"#, #"{"op":"revert","store":"note/x%"}"#, #"{"op":"revert","revision":1}"#,
        #"{"op":"revert","store":"note/x%","revision":"x"}"#,
        #"{"op":"revert","store":"note/x%","revision":999999}"#,
        #"{"op":"revert","store":"x","revision":1}"#,
        #"{"op":"revert","store":"note/x%","revision":1,"ifRevision":"x"}"#,
        #"{"op":"cancel"}"#, #"{"op":"cancel","timer":"t"}"#, #"{"op":"cancel","store":"note/x%"}"#,
        #"{"op":"cancel","store":"note/x%","type":"note","timer":"t"}"#,
        #"{"op":"cancel","store":"note/x%","timer":5}"#, #"{"op":"cancel","store":5,"timer":"t"}"#,
        #"{"op":"cancel","store":"x","timer":"t"}"#, #"{"op":"cancel","type":"none","timer":"t"}"#,
        #"{"op":"cancel","type":"note","timer":"t"}"#, #"{"op":"cancel","type":"*","timer":"t"}"#,
        #"{"op":"cancel","store":"note/x%","timer":"t","key":""}"#,
        #"{"op":"cancel","store":"none/x%","timer":"t","key":5}"#,
        #"{"op":"will"}"#, #"{"op":"will","actions":5}"#, #"{"op":"will","actions":[]}"#,
        #"{"op":"will","actions":[5]}"#, #"{"op":"will","actions":[{"store":"note/x%"}]}"#,
        #"{"op":"will","actions":[{"store":"note/x%","type":"note","action":"add"}]}"#,
        #"{"op":"will","actions":[{"store":"note/x%","action":"none"}]}"#,
        #"{"op":"will","actions":[{"type":"none","action":"add"}]}"#,
        #"{"op":"will","actions":[{"store":"note/x%","action":"add","payload":{"by":"x"}}]}"#,
        #"{"op":"will","actions":[{"store":"note/main","action":"add"},{"store":"note/x%","action":"add"}]}"#,
        #"{"op":"hello","session":"s%","linger":60}"#, #"{"op":"hello","session":"","linger":60}"#,
        #"{"op":"hello","session":"s%"}"#, #"{"op":"hello","linger":60}"#,
        #"{"op":"hello","session":"s%","linger":"x"}"#, #"{"op":"hello","session":5}"#,
        #"{"op":"hello","protocol":9}"#, #"{"op":"reload","dryRun":true}"#, #"{"op":"reload","dryRun":5}"#,
        #"{"op":"none"}"#, #"{"op":5}"#, #"{}"#, #"[]"#, #"{"op":"kick","client":5}"#,
        #"{"op":"get","store":"note/x%","match":"a"}"#,
        #"{"op":"subscribe","match":"*/*","store":"note/x%"}"#,
    ]
}
