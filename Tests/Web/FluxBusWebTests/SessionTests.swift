import BusJSON
import FluxBusWeb
import Foundation
import TestFiles
import Testing

@Suite("Signing in")
struct SessionTests {
    private static let key = [UInt8](0..<32)

    @Test func aCookieIsGoodForTwelveHours() {
        let cookie = SessionCookie(Self.key)
        let value = cookie.value(now: 1000)
        #expect(cookie.isGood(value, now: 1000))
        #expect(cookie.isGood(value, now: 1000 + 12 * 3600 - 1))
        #expect(!cookie.isGood(value, now: 1000 + 12 * 3600))
        // Signed by a clock that was a year ahead.
        #expect(!cookie.isGood(cookie.value(now: 1000 + 365 * 86_400), now: 1000))
    }

    @Test func noChangeOfACookieIsGood() {
        let cookie = SessionCookie(Self.key)
        let value = cookie.value(now: 1000)
        for place in value.indices {
            var changed = value
            changed.replaceSubrange(place...place, with: value[place] == "1" ? "2" : "1")
            #expect(!cookie.isGood(changed, now: 1000))
        }
        #expect(!cookie.isGood(value.dropLast(), now: 1000))
        #expect(!cookie.isGood("", now: 1000))
        #expect(!SessionCookie([UInt8](1..<33)).isGood(value, now: 1000))
    }

    @Test func signaturesAreHMACWithSHA256() {
        // RFC 4231, test case 2, and the example of GitHub's documentation.
        for (key, text, code) in [
            (
                "Jefe", "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                "It's a Secret to Everybody", "Hello, World!",
                "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
            ),
        ] { #expect(Secret.hexadecimal(Secret.signature(of: text.utf8, with: Array(key.utf8))) == code) }
    }

    @Test func theKeyIsMadeOnceAndForItsUserAlone() throws {
        let directory = TemporaryDirectory()
        let place = "\(directory.path)/a/b"
        let key = try SessionKey(in: place)
        #expect(try SessionKey(in: place).bytes == key.bytes)
        #expect(key.bytes.count == 32)
        var status = stat()
        #expect(stat("\(place)/\(SessionKey.fileName)", &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place) == [SessionKey.fileName])
        #expect(try SessionKey.replace(in: place).bytes != key.bytes)
    }

    @Test func aKeyThatOthersCanReadIsRefused() throws {
        let directory = TemporaryDirectory()
        let file = try directory.write(SessionKey.fileName, String(repeating: "k", count: 32), mode: 0o644)
        #expect(throws: WebFailure.self) { try SessionKey(in: directory.path) }
        chmod(file, 0o600)
        #expect(try SessionKey(in: directory.path).bytes == Array(repeating: UInt8(ascii: "k"), count: 32))
        try directory.write(SessionKey.fileName, "short")
        #expect(throws: WebFailure.self) { try SessionKey(in: directory.path) }
    }

    @Test func theKeyStandsWhereStatesDo() {
        #expect(SessionKey.directory(["STATE_DIRECTORY": "/a:/b", "HOME": "/h"]) == "/a")
        #expect(SessionKey.directory(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/fluxbus")
        #expect(SessionKey.directory(["HOME": "/h"]) == "/h/.local/state/fluxbus")
        #expect(SessionKey.directory([:]) == nil)
    }

    @Test func wrongGuessesAreTenAMinute() {
        var limit = AttemptLimit()
        for second in 0..<10 {
            #expect(limit.wait(now: second) == nil)
            limit.addWrong(now: second)
        }
        #expect(limit.wait(now: 10) == 50)
        #expect(limit.wait(now: 59) == 1)
        #expect(limit.wait(now: 60) == nil)
        limit.addWrong(now: 60)
        #expect(limit.wait(now: 60) == 1)
        // The clock was set back: nobody waits longer than a minute.
        #expect(limit.wait(now: -1000) == nil)
    }

    @Test func theLinkWorksOnce() async throws {
        try await WebFixture.run { web in
            let own = ["Origin": "http://\(web.host)"]
            let stranger = try JSON(parsing: web.ask("GET", "/session").text)
            #expect(stranger == ["signIn": "link", "signedIn": false])
            let first = try web.ask("POST", "/session", own, body: web.token)
            #expect(first.status == 204)
            let field = try #require(first.fields["set-cookie"])
            #expect(field.hasSuffix("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"))
            #expect(try web.ask("POST", "/session", own, body: web.token).status == 403)
            let cookie = String(field.prefix { $0 != ";" })
            let state = try web.ask("GET", "/session", ["Cookie": "theme=dark; \(cookie); x=y"])
            let members = try #require(try JSON(parsing: state.text).object)
            #expect(members["bus"]?.string == web.bus.address)
            #expect(members["signIn"] == "link" && members["signedIn"] == true)
            // Names of users are for who is signed in.
            #expect(members["users"]?["0"] == "root")
            #expect(try web.ask("GET", "/session", ["Cookie": "x\(cookie)"]).text.contains("false"))
        }
    }

    @Test func wrongTokensAreSlowedDownAndKeepNobodyOut() async throws {
        try await WebFixture.run { web in
            let own = ["Origin": "http://\(web.host)"]
            for _ in 0..<10 { #expect(try web.ask("POST", "/session", own, body: "wrong").status == 403) }
            let answer = try web.ask("POST", "/session", own, body: "wrong")
            #expect(answer.status == 429 && answer.fields["retry-after"] == "60")
            #expect(try web.ask("POST", "/session", own, body: web.token).status == 204)
            web.clock.advance(by: .seconds(60))
            #expect(try web.ask("POST", "/session", own, body: "wrong").status == 403)
        }
    }

    @Test func aSessionOutlivesTheServerAndEndsAfterItsTime() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            let token = web.token
            try web.restart()
            #expect(web.token != token)
            let (socket, listener) = (try web.webSocket(cookie), try web.webSocket(cookie))
            let subscription = #"{"op":"subscribe","type":"counter","initial":false}"#
            #expect(try listener.ask(subscription).contains(#""sub":1"#))
            #expect(try socket.ask(#"{"op":"ping","id":1}"#) == #"{"id":1,"ok":true}"#)
            web.clock.advance(by: .seconds(12 * 3600))
            #expect(try web.client().upgrade(["Cookie": cookie]).status == 401)
            // What is open already ends with what comes next.
            let dispatch = #"{"op":"dispatch","type":"counter","action":"increment"}"#
            socket.send(dispatch)
            #expect(try socket.end().lines == 0)
            // A page that only listens is told nothing more.
            let client = try web.bus.client()
            #expect(try client.ask(dispatch).contains(#""ok":true"#))
            let (lines, close) = try listener.end()
            #expect(lines == 0 && close.code == 1008)
            // Nothing of it has reached the bus.
            #expect(
                try client.ask(#"{"op":"get","store":"counter/main","select":["/count"]}"#).contains(
                    #""count":1"#))
        }
    }

    @Test func signingOutEndsAllSessions() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            #expect(try web.ask("DELETE", "/session", ["Cookie": cookie]).status == 403)
            let own = ["Origin": "http://\(web.host)", "Cookie": cookie]
            let (page, other) = (try web.webSocket(cookie), try web.webSocket(cookie))
            #expect(try page.ask(#"{"op":"ping","id":1}"#) == #"{"id":1,"ok":true}"#)
            let answer = try web.ask("DELETE", "/session", own)
            for socket in [page, other] {
                let close = try socket.end().close
                #expect(close.code == 1008 && close.reason == "You are no longer signed in.")
            }
            #expect(answer.status == 204 && answer.fields["set-cookie"]?.contains("Max-Age=0") == true)
            #expect(try web.client().upgrade(["Cookie": cookie]).status == 401)
            try web.restart()
            #expect(try web.client().upgrade(["Cookie": cookie]).status == 401)
        }
    }
}
