import BusJSON
import FluxBusCommand
import TestFiles
import Testing

/// `fluxbus access check`: what rules allow, before they are in force.
@Suite struct AccessCommandTests {
    private let directory = TemporaryDirectory()
    private let rules = """
        roles: { admin: [{ user: root }], family: [{ group: family }] }
        rules:
          - { role: admin, may: all }
          - { role: admin, may: all, match: lamp/* }
          - role: family
            may: [read, dispatch]
            match: thermostat/*
            if: { "<=": [{ var: payload.celsius }, 25] }
          - role: family
            may: [dispatch, create]
            match: lamp/*
            if: state.count < 3
          - { role: family, may: history, match: thermostat/*, select: [/target] }
        """

    private func check(_ arguments: String..., as who: String = "group:family") throws -> CommandRun {
        let file = try directory.write("access.yaml", rules)
        return try CommandRun(["access", "check", "--file", file, "--as", who] + arguments, terminal: true)
    }

    @Test func conditionsAreEvaluatedWithAPayload() throws {
        let open = try check("dispatch", "thermostat/hall", "setTarget")
        #expect(open.status == .success && open.output.contains("where its if holds"))
        let mild = try check("dispatch", "thermostat/hall", "setTarget", "celsius:=20")
        #expect(mild.status == .success && mild.output.contains("access.yaml:5"))
        #expect(!mild.output.contains("where its if holds"))
        let hot = try check("dispatch", "thermostat/hall", "setTarget", #"{"celsius":30}"#)
        #expect(hot.status == .forbidden && hot.output.contains("forbidden: no rule allows it"))
        // It does not decide about reading.
        let read = try check("read", "thermostat/hall")
        #expect(read.status == .success && !read.output.contains("where"))
    }

    @Test func conditionsThatReadTheStateNeedIt() throws {
        let unknown = try check("dispatch", "lamp/hall", "switch", "on:=true")
        #expect(unknown.status == .success && unknown.output.contains("where its if holds"))
        let low = try check("dispatch", "lamp/hall", "switch", "on:=true", "--state", #"{"count":2}"#)
        #expect(low.status == .success && !low.output.contains("where its if holds"))
        let high = try check("dispatch", "lamp/hall", "switch", "on:=true", "--state", #"{"count":3}"#)
        #expect(high.status == .forbidden)
        #expect(try check("create", "lamp/new", "count:=2").status == .success)
        #expect(try check("create", "lamp/new", "count:=3").status == .forbidden)
        #expect(try check("dispatch", "lamp/hall", "switch", "--state", "{}").status == .usage)
        #expect(try check("dispatch", "lamp/hall", "switch", "{}", "--state", "3").status == .usage)
    }

    @Test func theBusIsManagedByRulesAboutAllOfIt() throws {
        let manage = try check("manage", as: "user:root")
        #expect(manage.lines.count == 2 && manage.output.contains("access.yaml:3"))
        #expect(try check("manage", as: "uid:0").output == manage.output)
        #expect(try check("manage", as: "uid:4294967296").status == .usage)
        #expect(try check("manage").status == .forbidden)
        let past = try check("history", "thermostat/hall")
        #expect(past.output.contains("parts of past states and no actions"))
    }
}
