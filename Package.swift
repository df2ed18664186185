// swift-tools-version: 6.3
import Foundation
import PackageDescription

let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let flyingFox = Target.Dependency.product(name: "FlyingFox", package: "FlyingFox")
let flyingSocks = Target.Dependency.product(name: "FlyingSocks", package: "FlyingFox")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

// Imports point one way: a target may use those above it, never those below.
let package = Package(
    name: "FluxBus",
    // `Flux` is for Apple's systems, too, and so is what of `FluxBus` is not in its folder `Linux`; there they need what
    // `Synchronization` does. The rest is for Linux.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Flux", targets: ["Flux"]),
        .library(name: "FluxTesting", targets: ["FluxTesting"]),
        .library(name: "FluxBus", targets: ["FluxBus"]),
        .library(name: "FluxBusDaemon", targets: ["FluxBusDaemon"]),
        .library(name: "FluxBusTesting", targets: ["FluxBusTesting"]),
        .library(name: "Systemd", targets: ["Systemd"]),
        .executable(name: "fluxbusd", targets: ["fluxbusd"]),
        .executable(name: "fluxbus", targets: ["fluxbus"]),
        .executable(name: "fluxbus-web", targets: ["fluxbus-web"]),
        .executable(name: "fluxbus-effects", targets: ["fluxbus-effects"]),
    ],
    dependencies: [
        // Command lines: flags, help and completions for the executables.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // The logging interface of Swift servers.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // HTTP and WebSocket for fluxbus-web, without dependencies of its own. A trivial server on it is built in 14 s (16 s of
        // processor time) and has 1.1 MB; on swift-nio with HTTP and WebSocket it takes 52 s (61 s), 4 packages and 4.0 MB;
        // on Hummingbird 2.28.1, 149 s (157 s), 24 packages and 10 MB. (Swift 6.3, clean, -c release -j 1, nice 19, on two
        // cores that others used too; without debug symbols.) What it lacks, TLS, passed sockets and limits, the other two
        // have only in part, and BusTLS and Systemd are here anyway: Sources/Web/FluxBusWeb/Front puts them before it.
        .package(url: "https://github.com/swhitty/FlyingFox", .upToNextMinor(from: "0.27.1")),
    ],
    targets: [
        // System calls of Linux that the C library module lacks.
        .target(name: "CLinux"),
        // Clocks, and durations as numbers: all that the client library needs of every system.
        .target(name: "BusTime"),
        // What several targets need of Linux: threads, events, addresses of sockets, directories. Nothing of the bus.
        .target(name: "BusSystem", dependencies: ["BusTime", "CLinux"]),
        // Looks at many bytes at once, by instructions that Swift has no name for.
        .systemLibrary(name: "CScan"),
        // The layout of a file that programs read states from without the daemon.
        .systemLibrary(name: "CMap"),
        // Such a file: its one writer, and its readers. Nothing of the bus.
        .target(name: "BusMap", dependencies: ["BusSystem", "CLinux", "CMap"]),
        // libsystemd, and what goes with it of the C library.
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        // A service under systemd: readiness, watchdog, passed and stored descriptors, the journal. Nothing of the bus.
        .target(name: "Systemd", dependencies: ["BusSystem", "CLinux", "CSystemd"]),
        // SQLite, in which the action log is.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // The action log's file: groups of commits and snapshots, durable. Nothing of what they mean. CLinux tells which
        // file has its name.
        .target(name: "BusLog", dependencies: ["BusSystem", "CLinux", "CSQLite"]),
        // OpenSSL, which encrypts connections beyond this machine.
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        // One end of a TLS connection, over memory: for the daemon's loop and for the client library. No sockets.
        .target(name: "BusTLS", dependencies: ["COpenSSL"]),
        // JSON values, reading, writing, pointers, patches.
        .target(name: "BusJSON", dependencies: ["CScan"]),
        // One state under change: writes in place, the undo log, what changed.
        .target(name: "BusState", dependencies: ["BusJSON"]),
        // The wire: lines, requests, names, errors.
        .target(name: "BusProtocol", dependencies: ["BusJSON", "CScan"]),
        // Values that know the file and line they come from.
        .target(name: "BusSource", dependencies: ["BusJSON", "BusProtocol"]),
        // libyaml, whose events BusYAML reads. A Swift library over it gives trees, in which aliases are resolved and keys
        // compared before anything can be refused; and it takes its own copy of libyaml along.
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        // The Common Expression Language: text to a tree of terms, and back. Nothing of what they mean.
        .target(name: "BusCEL"),
        // JsonLogic, expressions in text and declared state types, compiled.
        .target(
            name: "BusLogic", dependencies: ["BusCEL", "BusJSON", "BusProtocol", "BusSource", "BusState"]),
        // What commits mean: types, stores, keys, sessions, the same wherever the same entries are applied.
        .target(
            name: "BusMachine", dependencies: ["BusJSON", "BusLogic", "BusProtocol", "BusState", "CScan"]),
        // What requests that change the bus mean, on one machine and on several.
        .target(name: "BusCommands", dependencies: ["BusJSON", "BusLogic", "BusMachine", "BusProtocol"]),
        // One bus over several machines: the shared log, and the rules by which every member turns it into the same commits.
        // OpenSSL computes the hashes that chain them.
        .target(
            name: "BusCluster",
            dependencies: [
                "BusCommands", "BusJSON", "BusLogic", "BusMachine", "BusProtocol", "COpenSSL",
            ]),
        // Who is notified: connections, subscriptions, what waits for the log. Pure and synchronous.
        .target(
            name: "BusEngine",
            dependencies: [
                "BusCluster", "BusCommands", "BusJSON", "BusLogic", "BusMachine", "BusProtocol", "BusState",
            ]),
        // Starts, snapshots and questions: what was, made again from snapshots and commits.
        .target(name: "BusHistory", dependencies: ["BusJSON", "BusLogic", "BusMachine", "BusProtocol"]),
        // libcurl, which carries requests to etcd and those of effects: connections kept open, streams, TLS with certificates.
        // It is not linked: it brings forty libraries along, and most daemons make no request. The first one loads it.
        .target(name: "CCurl"),
        // Requests over it, many at a time on one thread.
        .target(name: "BusHTTP", dependencies: ["BusSystem", "CCurl"]),
        // The shared log on an etcd, by its JSON gateway. Nothing of what entries mean; CLinux names its thread.
        .target(
            name: "EtcdLog",
            dependencies: ["BusCluster", "BusHTTP", "BusJSON", "BusSystem", "CCurl", "CLinux"]),
        // YAML and JSON files, read into values that know their line.
        .target(name: "BusYAML", dependencies: ["BusJSON", "BusSource", "BusSystem", "CYAML"]),
        // A directory of files, compiled into state types.
        .target(name: "BusDefinitions", dependencies: ["BusJSON", "BusLogic", "BusSource", "BusYAML"]),
        // The tests that files of types have, run on a bus in memory.
        .target(
            name: "TypeTesting",
            dependencies: [
                "BusDefinitions", "BusEngine", "BusJSON", "BusLogic", "BusMachine", "BusProtocol",
                "BusSource",
                "BusYAML",
            ]),
        // The architecture inside one process; no I/O, nothing of the bus.
        .target(name: "Flux"),
        // Stores for tests of what is built on Flux: expectations, effects, recordings. It links no test library.
        .target(name: "FluxTesting", dependencies: ["Flux"]),
        // A Swift state as the wire sees it: its name, its actions, its coding.
        .target(name: "BusTypes", dependencies: ["BusJSON", "BusProtocol", "Flux"]),
        // The client library: connections, subscriptions, remote stores. What only Linux has is used by its folder `Linux` alone.
        .target(
            name: "FluxBus",
            dependencies: ["BusJSON", "BusProtocol", "BusTime", "BusTypes", "Flux"]
                + ["BusMap", "BusSystem", "BusTLS", "CLinux", "CMap"].map {
                    .byName(name: $0, condition: .when(platforms: [.linux]))
                }),
        // Sockets and configuration: a bus in a process.
        .target(
            name: "BusServer",
            dependencies: [
                "BusCluster", "BusDefinitions", "BusEngine", "BusHistory", "BusJSON", "BusLog", "BusLogic",
                "BusMachine", "BusMap", "BusProtocol", "BusSource", "BusSystem", "BusTLS", "BusYAML",
                "CLinux", "CMap",
                "EtcdLog", "FluxBus",
                "Systemd", "TypeTesting",
                logging,
            ]),
        // A daemon for one's own main: the command line of fluxbusd, and compiled state types.
        .target(
            name: "FluxBusDaemon",
            dependencies: [
                "BusJSON", "BusLogic", "BusProtocol", "BusServer", "BusState", "BusSystem", "BusTypes",
                "Flux", arguments,
                logging,
            ]),
        // A bus in a test's own process, for tests of programs that use the client library.
        .target(
            name: "FluxBusTesting",
            dependencies: ["BusServer", "BusSystem", "FluxBus", "FluxBusDaemon", logging]),
        // State types as code in other languages, for programs that use them: text from definitions, no I/O.
        .target(name: "TypeCode", dependencies: ["BusJSON"]),
        // The bus's counters as OpenMetrics, for the command line and for HTTP: text from `stats`, no I/O.
        .target(name: "BusMetrics", dependencies: ["BusJSON"]),
        // What follows from actions: files of effects, compiled, and the state machine of each. Pure but for the reading of
        // the files.
        .target(
            name: "BusEffects", dependencies: ["BusJSON", "BusLogic", "BusProtocol", "BusSource", "BusYAML"]),
        // The command line's code, apart from its entry point, so that tests can run it.
        .target(
            name: "FluxBusCommand",
            dependencies: [
                "BusDefinitions", "BusEffects", "BusHooks", "BusJSON", "BusLog", "BusLogic", "BusMachine",
                "BusMetrics", "BusProtocol",
                "BusSource", "BusState", "BusSystem", "FluxBus",
                "TypeCode", "TypeTesting", arguments,
            ]),
        // zlib, which compresses the page's files once: what loads of the page is a third.
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // The inspector's files as bytes of the program: the page is there without a path to it, and of the same version.
        .target(name: "CInspector"),
        // Requests of other programs that become dispatches: files of hooks, compiled with the templates of effects. Pure but for
        // the reading of the files.
        .target(
            name: "BusHooks",
            dependencies: ["BusEffects", "BusJSON", "BusLogic", "BusSource", "BusYAML"]),
        // The bus in a browser: the inspector's page, the wire over WebSocket, plain HTTP, hooks, metrics. BusTLS ends TLS, Systemd
        // passes sockets, COpenSSL signs sessions, TypeCode describes types, CLinux has the system calls; BusEffects says where
        // secrets are; FlyingSocks is where FlyingFox waits for sockets.
        .target(
            name: "FluxBusWeb",
            dependencies: [
                "BusEffects", "BusHooks", "BusJSON", "BusMetrics", "BusProtocol", "BusSource", "BusSystem",
                "BusTLS", "CInspector", "CLinux", "COpenSSL", "CZlib", "FluxBus", "Systemd", "TypeCode",
                flyingFox, flyingSocks, arguments,
            ]),
        // Effects at work: programs, units, requests and actions, for what a bus tells. CSystemd asks the service manager for jobs,
        // BusHTTP sends requests, and BusYAML reads the files of their secrets.
        .target(
            name: "FluxBusEffects",
            dependencies: [
                "BusEffects", "BusHTTP", "BusJSON", "BusProtocol", "BusSource", "BusSystem", "BusYAML",
                "CCurl",
                "CSystemd", "FluxBus", "Systemd", arguments,
            ]),
        // The daemon, the command line, the web server, and the service of effects.
        .executableTarget(name: "fluxbus-effects", dependencies: ["FluxBusEffects"]),
        .executableTarget(name: "fluxbus-web", dependencies: ["FluxBusWeb"]),
        .executableTarget(name: "fluxbusd", dependencies: ["FluxBusDaemon"]),
        .executableTarget(name: "fluxbus", dependencies: ["FluxBusCommand"]),
        // Small programs that show one thing each; the tests run them.
        .executableTarget(
            name: "example-counter", dependencies: ["FluxBus"], path: "Sources/Examples/Counter"),
        .executableTarget(
            name: "example-presence", dependencies: ["FluxBus"], path: "Sources/Examples/Presence"),
        .executableTarget(
            name: "example-daemon", dependencies: ["FluxBusDaemon"], path: "Sources/Examples/CustomDaemon"),

        // What tests share: seeded randomness, a bus in memory.
        .target(
            name: "TestSupport",
            dependencies: [
                "BusCluster", "BusDefinitions", "BusEngine", "BusHistory", "BusJSON", "BusLogic",
                "BusMachine", "BusSource", "BusYAML", "TestFiles",
            ]),
        // Tests that run on a bus of one machine, and on a shared bus.
        .target(name: "TestModes", dependencies: ["TestSupport"]),
        // Load on an engine without sockets, for benchmarks and for tests that count what it costs.
        .target(name: "BusWork", dependencies: ["BusEngine", "BusJSON", "BusLogic"]),
        // Dispatches to a store inside a process, for the same. Another module than Flux, as programs are.
        .target(name: "FluxWork", dependencies: ["Flux"]),
        // The load generator, for contributors: load, costs and attacks, measured on buses of its own.
        .executableTarget(
            name: "fluxbus-bench",
            dependencies: [
                "BusJSON", "BusSystem", "BusWork", "CLinux", "CSQLite", "CStepCount", "FluxBus", "FluxWork",
                arguments,
            ]),
        // Directories of their own for tests.
        .target(name: "TestFiles", dependencies: ["BusSystem"]),
        // A live bus and a daemon's process, and what speaks to them line by line.
        .target(
            name: "TestServer",
            dependencies: [
                "BusJSON", "BusLogic", "BusMap", "BusServer", "BusSystem", "BusTLS", "CLinux", "CSystemd",
                "TestFiles",
                logging,
            ]),
        // What user interfaces are to tests: a module whose names are those of some of ours, and the main thread.
        .target(name: "TestInterface"),
        // A malloc that counts, single steps that are counted, and an fdatasync that may be held up.
        .target(name: "CMallocCount"),
        .target(name: "CStepCount"),
        .target(name: "CSyncGate"),
        // Authorities and certificates of their own for tests, made by OpenSSL's program.
        .target(name: "TestCertificates", dependencies: ["TestFiles", "TestServer"]),
        .testTarget(name: "BusSystemTests", dependencies: ["BusSystem", "TestFiles"]),
        .testTarget(name: "BusMapTests", dependencies: ["BusMap", "BusSystem", "CMap", "TestSupport"]),
        .testTarget(name: "BusTLSTests", dependencies: ["BusTLS", "TestCertificates", "TestSupport"]),
        // What a commit costs, and a dispatch inside a process, counted.
        .testTarget(
            name: "CostTests",
            dependencies: ["BusWork", "CMallocCount", "FluxWork", "TestServer", "fluxbus-bench"]),
        .testTarget(name: "TidyTests", dependencies: ["TestFiles"]),
        .testTarget(name: "BusJSONTests", dependencies: ["BusJSON", "TestSupport"]),
        .testTarget(
            name: "BusYAMLTests",
            dependencies: ["BusJSON", "BusProtocol", "BusSource", "BusYAML"]),
        .testTarget(name: "BusCELTests", dependencies: ["BusCEL", "TestSupport"]),
        .testTarget(
            name: "BusLogicTests",
            dependencies: [
                "BusDefinitions", "BusJSON", "BusLogic", "BusProtocol", "BusSource", "BusState", "BusYAML",
                "TestFiles", "TestSupport",
            ]),
        .testTarget(
            name: "BusDefinitionsTests",
            dependencies: [
                "BusDefinitions", "BusJSON", "BusLogic", "BusSource", "BusYAML", "TestFiles",
            ]),
        .testTarget(
            name: "TypeTestingTests",
            dependencies: ["BusDefinitions", "BusSource", "TestFiles", "TypeTesting"],
            exclude: ["Interplay", "Table/mistakes.txt"]),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["BusEngine", "BusJSON", "BusLogic", "BusMachine", "TestModes", "TestSupport"]),
        // The whole bus once more, slowly, from the contract, beside the bus.
        .testTarget(
            name: "ModelTests",
            dependencies: ["BusJSON", "TestEtcd", "TestFiles", "TestServer", "TestSupport", "fluxbusd"]),
        // Members of one bus over a log that delays, loses and goes back, from a seed.
        .testTarget(
            name: "ClusterTests",
            dependencies: [
                "BusCluster", "BusCommands", "BusJSON", "BusLogic", "BusMachine", "BusProtocol", "BusState",
                "TestFiles", "TestSupport",
            ],
            exclude: ["Recorded"]),
        // The guarantees, as somebody outside reads them.
        .testTarget(
            name: "ContractTests",
            dependencies: [
                "BusEngine", "BusHistory", "BusJSON", "BusLogic", "BusMachine", "BusProtocol", "TestFiles",
                "TestModes", "TestSupport",
            ],
            exclude: ["Requests/table.jsonl"]),
        // What the bus works out from the stores there are.
        .testTarget(
            name: "ViewTests",
            dependencies: [
                "BusDefinitions", "BusEngine", "BusHistory", "BusJSON", "BusLogic", "BusMachine",
                "BusProtocol",
                "BusSource", "TestModes", "TestSupport",
            ]),
        // Who may do what, by rules that change.
        .testTarget(
            name: "AccessTests",
            dependencies: ["BusEngine", "BusJSON", "BusLogic", "BusMachine", "TestModes", "TestSupport"]),
        // What hostile clients may try, against the engine.
        .testTarget(
            name: "HostileClientTests",
            dependencies: [
                "BusCluster", "BusEngine", "BusJSON", "BusLogic", "BusMachine", "BusProtocol", "TestModes",
                "TestSupport",
            ]),
        // The examples of the protocol page, run.
        .testTarget(
            name: "TranscriptTests",
            dependencies: [
                "BusEngine", "BusJSON", "BusProtocol", "TestFiles", "TestModes", "TestServer", "TestSupport",
            ]),
        // A disk in memory under SQLite, which fails and loses its power when told to.
        .target(name: "TestStorage", dependencies: ["CSQLite", "CSyncGate"]),
        .testTarget(
            name: "BusLogTests",
            dependencies: ["BusLog", "CSQLite", "TestFiles", "TestStorage", "TestSupport"]),
        // A whole bus on a disk that loses its power.
        .testTarget(
            name: "DurabilityTests",
            dependencies: [
                "BusEngine", "BusHistory", "BusJSON", "BusLog", "BusLogic", "BusMachine", "BusServer",
                "TestStorage", "TestSupport",
            ]),
        // Servers of etcd for tests.
        .target(name: "TestEtcd", dependencies: ["BusSystem", "TestFiles", "TestServer"]),
        .testTarget(
            name: "EtcdLogTests",
            dependencies: [
                "BusCluster", "BusJSON", "CCurl", "EtcdLog", "TestCertificates", "TestEtcd", "TestSupport",
            ]),
        // Daemons that share one bus, on an etcd of three servers: all are killed, stopped and cut off.
        .testTarget(
            name: "ClusterDaemonTests",
            dependencies: [
                "BusJSON", "BusMap", "TestEtcd", "TestFiles", "TestServer", "TestSupport", "fluxbus",
                "fluxbusd",
            ]),
        .testTarget(name: "FluxTests", dependencies: ["Flux", "TestFiles", "TestInterface"]),
        // The main actor owns what says nothing else, as in new projects of applications.
        .testTarget(
            name: "MainActorFluxTests", dependencies: ["Flux", "TestFiles"],
            swiftSettings: [.defaultIsolation(MainActor.self)]),
        .testTarget(
            name: "FluxTestingTests", dependencies: ["Flux", "FluxTesting", "TestFiles"],
            exclude: ["Documentation/Fixtures", "Fixtures"]),
        .testTarget(
            name: "BusTypesTests",
            dependencies: ["BusJSON", "BusProtocol", "BusTypes", "Flux", "TestSupport"]),
        // The client library, against a real bus in this process and against lines written by hand.
        .testTarget(
            name: "FluxBusTests",
            dependencies: [
                "BusJSON", "BusTime", "CLinux", "FluxBus", "TestCertificates", "TestFiles", "TestInterface",
                "TestServer", "TestSupport",
            ]),
        .testTarget(name: "FluxBusTestingTests", dependencies: ["FluxBus", "FluxBusTesting", "TestFiles"]),
        .testTarget(
            name: "FluxBusDaemonTests",
            dependencies: [
                "BusDefinitions", "BusEngine", "BusHistory", "BusJSON", "BusLogic", "BusMachine",
                "BusProtocol", "BusServer", "BusSource", "BusState", "Flux", "FluxBusDaemon", "TestFiles",
                "TestModes", "TestSupport",
            ]),
        .testTarget(
            name: "ExampleTests",
            dependencies: [
                "BusJSON", "FluxBus", "TestFiles", "TestServer", "example-counter", "example-daemon",
                "example-presence", "fluxbusd",
            ]),
        .testTarget(
            name: "FluxBusCommandTests",
            dependencies: [
                "BusEngine", "BusJSON", "BusLog", "BusLogic", "BusProtocol", "BusSource", "BusSystem",
                "BusYAML", "CSQLite", "FluxBus", "FluxBusCommand", "TestFiles", "TestModes", "TestServer",
                "TestSupport", "fluxbus", "fluxbus-bench", "fluxbusd",
            ],
            exclude: ["Recorded"]),
        // Metrics, read by parsers of others; the numbers of a real bus.
        .testTarget(
            name: "BusMetricsTests",
            dependencies: ["BusJSON", "BusMetrics", "TestFiles", "TestModes", "TestServer", "TestSupport"]),
        // What is printed for a type, compiled by the compilers of its languages and run against a bus. The example's objects
        // are the client library, linked.
        .testTarget(
            name: "TypeCodeTests",
            dependencies: [
                "BusJSON", "BusLogic", "TestFiles", "TestServer", "TypeCode", "example-counter", "fluxbus",
            ],
            exclude: ["Programs"]),
        // The web server before a bus of this process, against browsers by hand; and the program itself.
        .testTarget(
            name: "FluxBusWebTests",
            dependencies: [
                "BusHooks", "BusJSON", "BusSource", "BusSystem", "BusYAML", "CLinux", "FluxBus",
                "FluxBusCommand",
                "FluxBusWeb", "Systemd", "TestCertificates",
                "TestFiles", "TestServer", "TestSupport", "fluxbus", "fluxbus-web", flyingFox,
            ],
            exclude: ["Hooks"]),
        // Files of effects and their state machine, without a bus; and the service on a bus, with programs that it starts.
        .testTarget(
            name: "BusEffectsTests",
            dependencies: [
                "BusEffects", "BusJSON", "BusSource", "BusYAML", "TestFiles", "TestServer", "TestSupport",
                "fluxbus",
            ],
            exclude: ["mistakes.txt"]),
        .testTarget(
            name: "FluxBusEffectsTests",
            dependencies: [
                "BusJSON", "FluxBus", "TestCertificates", "TestFiles", "TestServer", "fluxbus-effects",
                "fluxbusd",
            ]),
        // The commands that the README, the articles, the manual pages and the help texts print, run; and where links lead.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "BusProtocol", "CSQLite", "FluxBusCommand", "TestCertificates", "TestEtcd", "TestFiles",
                "TestServer",
                "fluxbus", "fluxbus-bench", "fluxbus-web", "fluxbusd", arguments,
            ]),
        // The inspector's page in a real browser, which a script drives.
        .testTarget(
            name: "InspectorTests",
            dependencies: ["TestFiles", "TestServer", "fluxbus", "fluxbus-web", "fluxbusd"],
            exclude: ["Browser"]),
        // Scenarios that every client passes, in whatever language; this is the driver of the one in Swift.
        .executableTarget(
            name: "conformance-driver", dependencies: ["BusJSON", "FluxBus"],
            path: "Tests/Support/ConformanceDriver"),
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["TestCertificates", "TestFiles", "TestServer", "conformance-driver", "fluxbusd"],
            exclude: ["Scenarios", "Suite"]),
        // A small service that the tests run under a real systemd.
        .executableTarget(
            name: "systemd-probe", dependencies: ["CSystemd", "Systemd"],
            path: "Tests/Support/SystemdHarness/Probe"),
        .testTarget(
            name: "SystemdTests",
            dependencies: [
                "BusJSON", "BusLogic", "BusProtocol", "BusServer", "BusState", "BusSystem", "CSystemd",
                "Systemd",
                "TestCertificates", "TestFiles", "TestServer", "TestStorage", "fluxbus", "fluxbus-effects",
                "fluxbus-web", "fluxbusd", "systemd-probe",
                logging,
            ]),
        .testTarget(
            name: "BusServerTests",
            dependencies: [
                "BusEngine", "BusHistory", "BusJSON", "BusLog", "BusMachine", "BusMap", "BusServer",
                "BusSource", "BusSystem", "BusTLS", "CLinux", "CMap", "CSQLite", "EtcdLog",
                "TestCertificates", "TestFiles", "TestServer", "TestStorage", "TestSupport", "fluxbus",
                "fluxbus-bench", "fluxbusd", logging,
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// A target's code is in the folder with its name, on the floor on which it stands: Sources/Core/BusJSON.
for root in ["Sources", "Tests"] {
    for floor in folders(in: root) {
        let names = folders(in: "\(root)/\(floor)")
        for target in package.targets where target.path == nil && names.contains(target.name) {
            target.path = "\(root)/\(floor)/\(target.name)"
        }
    }
}

func folders(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: "\(Context.packageDirectory)/\(folder)")) ?? []
}

// Tests exercise optimized libraries and whole programs. Optimizing the tests, too, takes longer than it saves, but for
// simulations, which compute; and so does making their modules first, for which nobody waits. Debug information of tests is a
// sixth of the time of compiling them, and an expectation tells its place without it.
for target in package.targets where target.type == .test {
    let optimization =
        ["SimulationTests", "ModelTests", "ClusterTests"].contains(target.name) ? "-O" : "-Onone"
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .unsafeFlags(
                [optimization, "-no-emit-module-separately-wmo", "-Xfrontend", "-gnone"],
                .when(configuration: .release))
        ]
}

// `Tests/sanitize` names the targets it wants: only they are built, and what they stand on. What ordinary builds neither
// need nor could link is there for it alone.
if let names = Context.environment["FLUXBUS_ONLY"] {
    // What Swift's mutexes order, for the thread sanitizer: in every program.
    for target in package.targets where target.type == .test || target.type == .executable {
        target.dependencies.append("CThreadOrder")
    }
    package.targets.insert(.target(name: "CThreadOrder", path: "Tests/Support/CThreadOrder"), at: 0)
    // Fuzz targets, on libFuzzer.
    package.targets.append(
        .executableTarget(
            name: "Fuzzers",
            dependencies: [
                "BusCEL", "BusDefinitions", "BusEngine", "BusJSON", "BusLogic", "BusMachine", "BusProtocol",
                "BusSource", "BusTLS", "BusYAML", "TestCertificates", "TestFiles", "TestSupport",
            ],
            path: "Tests/Fuzzers", linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]))

    // Each stands below all that it uses.
    var wanted = Set(names.split(separator: " ").map(String.init))
    for target in package.targets.reversed() where wanted.contains(target.name) {
        for case .byNameItem(let name, _) in target.dependencies { wanted.insert(name) }
    }
    package.products = []
    package.targets.removeAll { !wanted.contains($0.name) }
}
