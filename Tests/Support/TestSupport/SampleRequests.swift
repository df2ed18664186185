/// One request of every kind, to be sent as it is or injured.
package enum SampleRequests {
    package static let all: [String] = [
        #"{"op":"hello","id":1,"protocol":1,"client":"fuzz","token":"t"}"#,
        #"{"op":"dispatch","id":"a","type":"note","action":"add","payload":{"by":1}}"#,
        #"{"op":"dispatch","id":2,"store":"note/a","action":"put","payload":{"value":{"a":[1,2.5,null]}},"ifRevision":1}"#,
        #"{"op":"dispatch","type":"*","action":"add","payload":{"by":-1},"dryRun":true}"#,
        #"{"op":"dispatch","id":3,"actions":[{"type":"note","action":"add"},{"store":"note/b","action":"put","payload":{"value":1}}]}"#,
        #"{"op":"dispatch","type":"note","action":"add","key":"k1","after":3,"epoch":"e"}"#,
        #"{"op":"create","id":4,"store":"note/a","state":{"count":7},"ephemeral":true,"ifMissing":true}"#,
        #"{"op":"drop","id":5,"store":"note/a","key":"k2"}"#,
        #"{"op":"get","id":6,"match":"n*/*","select":["/value/a","/count"],"limit":2,"after":"note/a"}"#,
        #"{"op":"stores","id":7,"match":"*/*","limit":1}"#, #"{"op":"types","id":8,"type":"note"}"#,
        #"{"op":"subscribe","id":9,"type":"note","select":["/count"],"format":"patch","initial":true,"cause":true}"#,
        #"{"op":"subscribe","id":10,"match":"note/?","since":2,"epoch":"e","actions":true}"#,
        #"{"op":"unsubscribe","id":11,"sub":1}"#, #"{"op":"sync","id":12}"#,
        #"{"op":"history","id":13,"since":1,"until":2,"limit":3,"type":"note"}"#,
        #"{"op":"revert","id":14,"store":"note/a","revision":1,"ifRevision":2}"#,
        #"{"op":"will","id":15,"actions":[{"type":"note","action":"add","payload":{"by":2}}]}"#,
        #"{"op":"dispatch","id":19,"store":"note/a","action":"add","in":"5m","timer":"t"}"#,
        #"{"op":"dispatch","id":20,"type":"note","action":"add","at":1795000000.5,"key":"k3"}"#,
        #"{"op":"create","id":21,"store":"note/c","ttl":"90s"}"#,
        #"{"op":"timers","id":22,"match":"note/*","limit":2,"after":"1795000000500 note/a t"}"#,
        #"{"op":"cancel","id":23,"store":"note/a","timer":"t"}"#,
        #"{"op":"cluster","id":24,"leave":false}"#,
        #"{"op":"stats","id":16}"#, #"{"op":"ping","id":17}"#, #"{"op":"reload","id":18}"#,
    ]
}
