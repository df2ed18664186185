// swift-tools-version: 6.1
import PackageDescription

// Imports point one way: each target may use those above it, never those below.
let package = Package(
    name: "FluxBus",
    products: [
        .library(name: "FluxBus", targets: ["FluxBus"]),
        .executable(name: "fluxbus", targets: ["fluxbus"]),
        .executable(name: "fluxbus-bench", targets: ["fluxbus-bench"]),
    ],
    dependencies: [
        // Command lines: flags, help and completions for the executables.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // YAML of configuration and state types; nothing of it is on the hot path.
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        // The logging interface of Swift servers.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        // System calls of Linux that the C library module lacks.
        .target(name: "CLinux"),
        // JSON values, reading, writing, pointers, patches.
        .target(name: "BusJSON"),
        // One state under change: writes in place, the journal, what changed.
        .target(name: "BusState", dependencies: ["BusJSON"]),
        // The wire: lines, requests, names, errors.
        .target(name: "BusProtocol", dependencies: ["BusJSON"]),
        // YAML and JSON files as values that know their line.
        .target(
            name: "BusYAML",
            dependencies: ["BusJSON", "BusProtocol", .product(name: "Yams", package: "Yams")]),
        // JsonLogic and declared state types, compiled.
        .target(name: "BusLogic", dependencies: ["BusJSON", "BusProtocol", "BusState", "BusYAML"]),
        // Stores, commits, subscriptions: pure and synchronous.
        .target(name: "BusEngine", dependencies: ["BusJSON", "BusState", "BusLogic", "BusProtocol"]),
        // What tests share: seeded randomness.
        .target(name: "TestSupport", dependencies: ["BusJSON"], path: "Tests/TestSupport"),
        .testTarget(
            name: "SimulationTests", dependencies: ["BusEngine", "BusLogic", "BusJSON", "TestSupport"]),
        .testTarget(name: "BusJSONTests", dependencies: ["BusJSON", "TestSupport"]),
        .testTarget(
            name: "BusYAMLTests", dependencies: ["BusJSON", "BusProtocol", "BusYAML", "TestSupport"]),
        .testTarget(
            name: "BusLogicTests",
            dependencies: ["BusJSON", "BusProtocol", "BusState", "BusYAML", "BusLogic", "TestSupport"]),
        // The client library: addresses, connections, mirrors.
        .target(name: "FluxBus", dependencies: ["BusJSON", "CLinux"]),
        // The command line's code, apart from its entry point, so that tests can run it.
        .target(
            name: "FluxBusCommand",
            dependencies: [
                "BusJSON", "FluxBus", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .executableTarget(name: "fluxbus", dependencies: ["FluxBusCommand"]),
        // The load generator.
        .executableTarget(
            name: "fluxbus-bench",
            dependencies: [
                "BusJSON", "CLinux", "FluxBus",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .testTarget(name: "FluxBusCommandTests", dependencies: ["BusJSON", "FluxBus", "FluxBusCommand"]),
    ],
    swiftLanguageModes: [.v6]
)
