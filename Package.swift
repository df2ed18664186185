// swift-tools-version: 6.1
import PackageDescription

// Imports point one way: each target may use those above it, never those below.
let package = Package(
    name: "FluxBus",
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
        // YAML and JSON files as values that know their line.
        .target(name: "BusYAML", dependencies: ["BusJSON", .product(name: "Yams", package: "Yams")]),
        // JsonLogic and declared state types, compiled.
        .target(name: "BusLogic", dependencies: ["BusJSON", "BusState", "BusYAML"]),
        // The wire: lines, requests, names, errors.
        .target(name: "BusProtocol", dependencies: ["BusJSON"]),
        // Stores, commits, subscriptions: pure and synchronous.
        .target(name: "BusEngine", dependencies: ["BusJSON", "BusState", "BusLogic", "BusProtocol"]),
        // Sockets and configuration: a bus in a process.
        .target(
            name: "BusServer",
            dependencies: [
                "BusEngine", "BusLogic", "BusProtocol", "BusYAML", "CLinux",
                .product(name: "Logging", package: "swift-log"),
            ]),
        // The daemon.
        .executableTarget(
            name: "fluxbusd",
            dependencies: [
                "BusServer", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        // What tests share: seeded randomness.
        .target(name: "TestSupport", dependencies: ["BusJSON"], path: "Tests/TestSupport"),
        .testTarget(name: "BusJSONTests", dependencies: ["BusJSON", "TestSupport"]),
        .testTarget(name: "BusYAMLTests", dependencies: ["BusJSON", "BusYAML", "TestSupport"]),
        .testTarget(
            name: "BusLogicTests",
            dependencies: ["BusJSON", "BusState", "BusYAML", "BusLogic", "TestSupport"]),
        .testTarget(
            name: "BusServerTests",
            dependencies: [
                "BusEngine", "BusServer", "BusYAML", "CLinux", "fluxbusd",
                .product(name: "Logging", package: "swift-log"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
