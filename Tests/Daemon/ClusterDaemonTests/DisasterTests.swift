import BusJSON
import Foundation
import TestEtcd
import TestFiles
import TestServer
import Testing

/// What the page on several machines says to do when something is lost, done as it says: the bus comes back, and nobody is
/// left to think that what is lost is there.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct DisasterTests {
    private static let page = "Sources/Daemon/BusServer/BusServer.docc/Clustering.md"
    private static let increment = #""op":"dispatch","store":"counter/main","action":"increment""#

    private func ok(_ client: LineClient, _ request: String) throws -> JSON {
        let reply = try JSON(parsing: client.reply(to: request))
        guard reply["ok"] == true else { throw TestCluster.Failure(description: "\(request): \(reply)") }
        return reply
    }

    private func commit(_ member: TestMember, _ count: Int) throws {
        let client = try member.client()
        for _ in 0..<count { _ = try ok(client, "{\(Self.increment)}") }
    }

    private func count(_ member: TestMember) throws -> Int? {
        try ok(try member.client(), #"{"op":"get","store":"counter/main","fresh":true}"#)["states"]?[
            "counter/main"]?["count"]?.int
    }

    /// Runs a command of the page on a member's machine: its directory is that of the log, and its configuration the one there.
    private func run(_ command: String, on member: TestMember) throws {
        #expect(try Repository.text(Self.page).contains(command), "\(command)")
        var words = command.split(separator: " ").map(String.init)
        let directory = member.directory.path
        switch words.removeFirst() {
        case "install":
            // As this user: there is no other here.
            let names = words.suffix(2).map { "\(directory)/\($0)" }
            try FileManager.default.copyItem(atPath: names[0], toPath: names[1])
        case "rm":
            for name in words where name != "-f" {
                try? FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            }
        case "fluxbus":
            words = words.map { $0.hasSuffix(".sqlite") ? "\(directory)/\($0)" : $0 }
            try finish("fluxbus", ["--address", member.address] + words)
        case let program:
            words = words.map { $0.hasSuffix(".sqlite") ? "\(directory)/\($0)" : $0 }
            try finish(program, ["--config", "\(directory)/fluxbusd.yaml"] + words)
        }
    }

    /// What is kept beside the log stays.
    private func removeLog(on member: TestMember) throws {
        try run("rm -f bus.sqlite bus.sqlite-wal bus.sqlite-shm bus.sqlite-tail bus.sqlite-lock", on: member)
        try run(
            "rm -f bus.sqlite.next bus.sqlite.next-wal bus.sqlite.next-shm bus.sqlite.next-lock", on: member)
        #expect(try files(member).keys.allSatisfy { $0.hasPrefix("bus.sqlite.aside-") })
    }

    /// Runs `fluxbus cluster rescue` on a member's machine; the page has the command with these words.
    private func rescue(_ words: String, on member: TestMember, status: Int32 = 0) throws -> String {
        let outcome = try RunningProgram.run(
            "fluxbus",
            ["cluster", "rescue", "--config", "\(member.directory.path)/fluxbusd.yaml"]
                + words.split(separator: " ").map { word in
                    word.hasSuffix(".sqlite") ? "\(member.directory.path)/\(word)" : String(word)
                })
        #expect(outcome.status == status, "\(words): \(outcome.output)\(outcome.errors)")
        return outcome.output + outcome.errors
    }

    /// The files of a member's log, and what is in them.
    private func files(_ member: TestMember) throws -> [String: Data] {
        let directory = member.directory.path
        return try FileManager.default.contentsOfDirectory(atPath: directory)
            .filter { $0.hasPrefix("bus.sqlite") }
            .reduce(into: [:]) { $0[$1] = FileManager.default.contents(atPath: "\(directory)/\($1)") }
    }

    /// Waits until a member that was killed is none any more.
    private func waitForTheEnd(of member: TestMember, beside other: TestMember) throws {
        try TestCluster.wait(until: "end of \(member.name)") {
            let members = try ok(try other.client(), #"{"op":"cluster"}"#)["cluster"]?["members"]
            return members?.array?.contains { $0["name"]?.string == member.name } == false
        }
    }

    private func finish(_ program: String, _ words: [String]) throws {
        let outcome = try RunningProgram.run(program, words)
        guard outcome.status == 0 else {
            throw TestCluster.Failure(description: "\(program) \(words): \(outcome.errors)")
        }
    }

    private func state(of cluster: TestCluster) -> String {
        cluster.members.map { "\($0.name) \($0.daemon.exits):\n\($0.messages.suffix(1500))" }.joined(
            separator: "\n")
    }

    /// Of three servers one is left, with all that was acknowledged.
    @Test func mostServersOfEtcdAreLost() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        try commit(cluster["a"], 30)
        let before = try cluster.settle()
        try TestCluster.wait(until: "servers that have the same") { try cluster.etcd.isEven }
        #expect(try Repository.text(Self.page).contains("--force-new-cluster"))
        try cluster.etcd.goOn(with: 1)
        let after = try cluster.settle()
        #expect(after.epoch == before.epoch && after.revision >= before.revision)
        for (index, member) in cluster.members.enumerated() {
            try commit(member, 1)
            #expect(try count(member) == 31 + index, "\(state(of: cluster))")
        }
        for member in cluster.members { #expect(member.daemon.exits == [], "\(member.messages)") }
    }

    /// What can't be read may be of another bus.
    @Test func nothingIsSaidOfACopyThatCannotBeRead() throws {
        let cluster = try TestCluster(["a"], servers: 1, starts: { _ in false })
        let member = cluster["a"]
        try member.directory.write("bus.sqlite.aside-1", "no log")
        try member.start()
        try TestCluster.wait(until: "end of a") { member.daemon.exits.last == 78 }
        #expect(member.messages.contains("is empty, and a copy that can't be read lies at"))
        #expect(member.messages.contains("aside-1; move it away if it is of another bus."))
        #expect(!member.messages.contains("has had the bus"))
    }

    /// No member begins an empty bus; it begins with a copy, by hand.
    @Test func allOfEtcdIsLost() throws {
        let cluster = try TestCluster(["a", "b", "c"], servers: 1)
        try commit(cluster["a"], 30)
        let before = try cluster.settle()
        try cluster.etcd.empty()
        for member in cluster.members {
            try TestCluster.wait(until: "end of \(member.name); \(state(of: cluster))") {
                member.daemon.exits.last == 78
            }
            #expect(member.messages.contains("is empty, and this member has had the bus"))
        }
        let page = try Repository.text(Self.page)
        for command in ["", " begin --yes", " replace --yes"] {
            #expect(page.contains("fluxbus cluster rescue\(command)\n"))
        }
        let first = cluster["a"]
        let found = try rescue("", on: first)
        #expect(
            found.contains("revision \(before.revision), epoch \(before.epoch), of the bus home\n"),
            "\(found)")
        #expect(found.contains("the shared log: is empty\n") && found.contains("rescue begin."))
        let had = try files(first)
        let plan = try rescue("begin", on: first)
        #expect(
            plan.contains("what any member has had after revision \(before.revision) is lost\n"), "\(plan)")
        #expect(plan.hasSuffix("Nothing was changed; with --yes it is done.\n"))
        #expect(try files(first)["bus.sqlite"] == had["bus.sqlite"])
        // With nobody to take a copy from, the last one is not given up.
        #expect(try rescue("replace --yes", on: first, status: 78).contains("may be the last"))
        _ = try rescue("begin --yes", on: first)
        try first.start()
        try first.waitUntilAttached()
        try TestCluster.wait(until: "a bus at a") {
            try rescue("look", on: cluster["b"]).contains("present: a, revision ")
        }
        for name in ["b", "c"] {
            let told = try rescue("replace --yes", on: cluster[name])
            #expect(told.contains("at most this is lost: nothing\n"), "\(told)")
            try cluster[name].start()
        }
        let after = try cluster.settle()
        #expect(after.epoch != before.epoch)
        #expect(after.ledgers == before.ledgers)
        for member in cluster.members { #expect(try count(member) == 30) }
        try commit(cluster["c"], 1)
        #expect(try count(cluster["b"]) == 31)
    }

    /// It says what would be lost, and refuses what loses more.
    @Test func rescueLeavesAloneWhatNeedsNone() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        let member = cluster["b"]
        try commit(cluster["a"], 10)
        _ = try ok(try member.client(), #"{"op":"sync"}"#)
        try run("fluxbus backup copy.sqlite", on: member)
        try commit(member, 5)
        let before = try cluster.settle()
        // Its daemon has the log.
        #expect(try rescue("replace --yes", on: member, status: 75).contains("bus.sqlite"))
        member.daemon.kill()
        try waitForTheEnd(of: member, beside: cluster["a"])
        let found = try rescue("look", on: member)
        #expect(found.contains("the shared log: has the bus\n") && found.contains("start the members"))
        #expect(found.contains("present: a, revision "), "\(found)")
        for words in ["begin", "begin --yes", "begin copy.sqlite --yes"] {
            #expect(try rescue(words, on: member, status: 78).contains("has the bus home already"))
        }
        let had = try files(member)
        #expect(try rescue("replace", on: member).contains("Nothing was changed"))
        #expect(try files(member)["bus.sqlite"] == had["bus.sqlite"])
        #expect(try rescue("replace --yes", on: member).contains("bus.sqlite.aside-1"))
        #expect(try files(member)["bus.sqlite.aside-1"] == had["bus.sqlite"])
        #expect(try rescue("replace --yes", on: member).contains("nothing to replace"))
        try member.start()
        let after = try cluster.settle()
        #expect(after.epoch == before.epoch && after.ledgers == before.ledgers)
        // A copy that has less than the member's own is no start.
        for member in cluster.members { member.daemon.kill() }
        try cluster.etcd.empty()
        #expect(try rescue("begin copy.sqlite --yes", on: member, status: 78).contains("own copy has more"))
        #expect(try rescue("begin none.sqlite", on: member, status: 78).contains("which is not there"))
        // Root does it for the daemon's user.
        guard geteuid() == 0 else { return }
        for file in try files(member).keys {
            #expect(chown("\(member.directory.path)/\(file)", 65534, 65534) == 0)
        }
        _ = try rescue("begin --yes", on: member)
        for file in try files(member).keys where !file.contains("aside") {
            var status = stat()
            #expect(stat("\(member.directory.path)/\(file)", &status) == 0)
            #expect(status.st_uid == 65534, "\(file)")
        }
    }

    @Test func allCopiesButOneAreLost() throws {
        let cluster = try TestCluster(["a", "b", "c"], servers: 1)
        try commit(cluster["a"], 30)
        let before = try cluster.settle()
        for name in ["a", "c"] {
            cluster[name].daemon.kill()
            try removeLog(on: cluster[name])
        }
        // What the log still has would do as well.
        try cluster.etcd.control("compact \(try cluster.etcd.revision)")
        try commit(cluster["b"], 10)
        for name in ["a", "c"] { try cluster[name].start() }
        let after = try cluster.settle()
        #expect(after.epoch == before.epoch)
        for member in cluster.members {
            try commit(member, 1)
        }
        for member in cluster.members { #expect(try count(member) == 43) }
        // Nobody needs the one that was left.
        cluster["b"].daemon.kill()
        try waitForTheEnd(of: cluster["b"], beside: cluster["a"])
        try commit(cluster["a"], 1)
        #expect(try count(cluster["c"]) == 44)
    }

    /// Under another name the same servers keep another bus. What a member has kept of the former one is in nobody's way.
    @Test func aBusIsBegunWithoutHistory() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        try commit(cluster["a"], 10)
        cluster["b"].daemon.kill()
        try waitForTheEnd(of: cluster["b"], beside: cluster["a"])
        #expect(try rescue("replace --yes", on: cluster["b"]).contains("bus.sqlite.aside-1"))
        try cluster["b"].start()
        let before = try cluster.settle()
        #expect(try Repository.text(Self.page).contains("another name in each file (`bus: house`)"))
        for member in cluster.members {
            member.daemon.kill()
            try removeLog(on: member)
            let file = "\(member.directory.path)/fluxbusd.yaml"
            let text = String(
                decoding: try #require(FileManager.default.contents(atPath: file)), as: UTF8.self)
            #expect(text.contains("bus: home\n"))
            try member.directory.write("fluxbusd.yaml", text.replacing("bus: home\n", with: "bus: house\n"))
        }
        for member in cluster.members { try member.start() }
        let after = try cluster.settle()
        #expect(after.epoch != before.epoch)
        for member in cluster.members { #expect(try count(member) == 0) }
    }

    /// It knows less than it did, and its clients see no state of then: whether the log still has what comes after, or not.
    @Test(arguments: [false, true]) func aMemberGoesBackToAnOldBackup(isTrimmed: Bool) throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        let member = cluster["b"]
        try commit(cluster["a"], 10)
        _ = try ok(try member.client(), #"{"op":"sync"}"#)
        try run("fluxbus backup copy.sqlite", on: member)
        try commit(member, 30)
        let before = try cluster.settle()
        member.daemon.kill()
        try commit(cluster["a"], 300)
        if isTrimmed { try cluster.etcd.control("compact \(try cluster.etcd.revision)") }
        try removeLog(on: member)
        try run("install -o fluxbus -g fluxbus -m 600 copy.sqlite bus.sqlite", on: member)
        try member.start()
        let after = try cluster.settle()
        #expect(after.epoch == before.epoch)
        #expect(try count(member) == 340)
        try commit(member, 1)
        #expect(try count(cluster["a"]) == 341)
        #expect(cluster["a"].daemon.exits == [], "\(state(of: cluster))")
    }
}
