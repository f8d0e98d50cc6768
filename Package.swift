// swift-tools-version: 6.3

import PackageDescription

// MARK: - How everything is built

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
]

/// scripts/test builds what comes from elsewhere as for a release: without optimization it takes more of a run's time than
/// what is tested. Of this package it optimizes only what nearly every test spends its time in, and the rest is built as in
/// debug: in a third of the time, and a change has only its own files compiled anew.
let testing: [SwiftSetting] =
    Context.environment["MARTLET_TESTS"] == nil ? [] : [.define("DEBUG"), .unsafeFlags(["-enable-testing"])]
let unoptimized: [SwiftSetting] =
    testing.isEmpty
    ? []
    : [.unsafeFlags(["-Onone", "-no-whole-module-optimization", "-enable-batch-mode"])]
let optimized: Set = [
    "TokenModel", "TextCoding", "TokenStorage", "KillSwitch", "TokenRefresh", "TestKit", "Simulation",
]

func settings(of name: String) -> [SwiftSetting] {
    settings + testing + (optimized.contains(name) ? [] : unoptimized)
}

func module(
    _ name: String,
    uses dependencies: [Target.Dependency] = [],
    holding resources: [Resource] = []
) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings(of: name))
}

func program(_ name: String, uses dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings(of: name))
}

func tests(of name: String, using dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: [.target(name: name)] + dependencies,
        swiftSettings: settings(of: "\(name)Tests")
    )
}

// MARK: - What comes from elsewhere

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let database: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let databaseEngine: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS: Target.Dependency = .product(name: "HummingbirdTLS", package: "hummingbird")
let jwt: Target.Dependency = .product(name: "JWTKit", package: "jwt-kit")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioExtras: Target.Dependency = .product(name: "NIOExtras", package: "swift-nio-extras")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1: Target.Dependency = .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
/// PostgreSQL's C library, only in builds with the trait of that name.
let postgreSQL: Target.Dependency = .target(name: "TokenStoragePostgreSQL", condition: .when(traits: ["PostgreSQL"]))
let yaml: Target.Dependency = .product(name: "Yams", package: "Yams")

// MARK: - The modules: each may use only those above it

let package = Package(
    name: "martlet",
    products: [
        .executable(name: "martlet", targets: ["martlet"]),
        .executable(name: "martlet-mock", targets: ["martlet-mock"]),
    ],
    traits: [
        .default(enabledTraits: ["PostgreSQL"]),
        .trait(name: "PostgreSQL", description: "Stores in PostgreSQL, with its C library libpq."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    ],
    targets: [
        .target(name: "CShims"),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(name: "CSQLiteShims", linkerSettings: [.linkedLibrary("sqlite3")]),
        module("TokenModel", uses: ["CShims"]),
        module("SystemSupport", uses: ["CShims", "TokenModel", nioCore, nioPosix]),
        module("TextCoding", uses: ["TokenModel"]),
        module("Telemetry", uses: ["TokenModel", logging]),
        module("HTTPWire", uses: [nioCore]),
        module("HTTPCaching", uses: ["CShims", "HTTPWire", "TextCoding", "TokenModel", nioCore]),
        module("OAuth", uses: ["TextCoding", "TokenModel"]),
        module(
            "ProviderClient",
            uses: [
                "SystemSupport", "OAuth", "TextCoding", "TokenModel", asyncHTTPClient, crypto, cryptoExtras, jwt,
                logging,
                nioCore, nioHTTP1,
                nioPosix, nioSSL,
            ]
        ),
        module("TokenStorage", uses: ["CShims", "SystemSupport", "TokenModel", crypto, cryptoExtras]),
        module("Audit", uses: ["TokenModel", "TokenStorage", crypto, logging]),
        module("TokenStorageSQLite", uses: ["CSQLiteShims", "SystemSupport", "TokenModel", "TokenStorage", database]),
        module(
            "TokenStoragePostgreSQL",
            uses: ["CPostgreSQL", "TextCoding", "TokenModel", "TokenStorage"]
        ),
        module("TokenStorageRedis", uses: ["TokenModel", "TokenStorage", nioCore, nioPosix, nioSSL]),
        module("KillSwitch", uses: ["OAuth", "ProviderClient", "TokenModel", "TokenStorage", logging]),
        module("Approvals", uses: ["TokenModel", "TokenStorage", logging]),
        module("TokenRefresh", uses: ["KillSwitch", "OAuth", "ProviderClient", "TokenModel", "TokenStorage", logging]),
        module(
            "SignIn",
            uses: [
                "Audit", "KillSwitch", "OAuth", "ProviderClient", "TextCoding", "TokenModel", "TokenRefresh",
                "TokenStorage", crypto, logging,
            ]
        ),
        module(
            "Proxy",
            uses: [
                "CShims", "HTTPCaching", "HTTPWire", "SystemSupport", "Telemetry", "TextCoding", "TokenModel", asn1,
                crypto, logging, nioCore, nioPosix, nioSSL, nioTLS,
            ]
        ),
        module("Settings", uses: ["TextCoding", "SystemSupport", "OAuth", "TokenModel", yaml]),
        module(
            "AdminAPI",
            uses: [
                "Audit", "KillSwitch", "OAuth", "SignIn", "SystemSupport", "TextCoding", "TokenModel", "TokenRefresh",
                "TokenStorage", crypto, httpTypes, hummingbirdCore, logging, nioCore, nioHTTP1, nioHTTPTypes, nioPosix,
                serviceLifecycle,
            ],
            // In the program itself: it is one file, wherever it runs.
            holding: [
                .embedInCode("Dashboard/Pages"), .embedInCode("Login/Pages"), .embedInCode("OpenAPI/openapi.json"),
            ]
        ),
        module(
            "GatewayServer",
            uses: [
                "AdminAPI", "Approvals", "Audit", "CShims", "HTTPCaching", "HTTPWire", "KillSwitch", "OAuth",
                "ProviderClient",
                "Proxy", "Settings", "SignIn", "SystemSupport", "Telemetry", "TextCoding", "TokenModel", "TokenRefresh",
                "TokenStorage", "TokenStorageRedis", "TokenStorageSQLite", asyncHTTPClient, crypto, logging, nioCore,
                nioHTTP1, nioPosix, postgreSQL, serviceLifecycle, unixSignals,
            ]
        ),
        module(
            "AdminCLI",
            uses: [
                "AdminAPI", "Audit", "GatewayServer", "HTTPWire", "KillSwitch", "OAuth", "Settings", "SystemSupport",
                "TextCoding", "TokenModel", "TokenStorage", argumentParser, asyncHTTPClient, crypto, logging, nioCore,
                nioHTTP1,
                nioPosix, nioSSL,
            ]
        ),
        program(
            "martlet",
            uses: [
                "Approvals",
                "AdminCLI", "CShims", "GatewayServer", "Settings", "SystemSupport", "Telemetry", "TextCoding",
                "TokenModel",
                argumentParser, logging, unixSignals,
            ]
        ),
        module(
            "MockServers",
            uses: [
                "Approvals",
                "SystemSupport", "TextCoding", "TokenModel", crypto, httpTypes, hummingbirdCore, hummingbirdTLS,
                logging,
                nioCore, nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, nioPosix, nioSSL,
            ]
        ),
        program(
            "martlet-mock",
            uses: ["MockServers", "SystemSupport", "TextCoding", argumentParser, unixSignals]
        ),
        module("TestKit", uses: ["CShims", "TokenModel", "TokenStorage", logging]),
        // One thread, and time that passes when nothing runs.
        .target(
            name: "Simulation",
            dependencies: ["TestKit", "TokenModel"],
            path: "Tests/Simulation",
            swiftSettings: settings(of: "Simulation")
        ),
        // Replicas with all their surroundings in simulated time: tests run some seeds of it, and `ClusterRuns` many.
        .target(
            name: "SimulatedCluster",
            dependencies: [
                "Audit", "KillSwitch", "OAuth", "ProviderClient", "SignIn", "Simulation", "TestKit", "TokenModel",
                "TokenRefresh",
                "TokenStorage", logging,
            ],
            path: "Tests/SimulatedCluster",
            swiftSettings: settings(of: "SimulatedCluster")
        ),
        .executableTarget(
            name: "ClusterRuns",
            dependencies: ["Simulation", "SimulatedCluster", argumentParser],
            path: "Tests/ClusterRuns",
            swiftSettings: settings(of: "ClusterRuns")
        ),
        // What must hold for every input: tests and fuzzers try it.
        .target(
            name: "Properties",
            dependencies: ["HTTPCaching", "HTTPWire", "OAuth", "TokenModel", nioCore],
            path: "Tests/Properties",
            swiftSettings: settings(of: "Properties")
        ),

        tests(of: "Simulation", using: ["TokenModel"]),
        tests(of: "SimulatedCluster", using: ["Simulation", "TestKit"]),
        tests(of: "TokenModel"),
        tests(of: "Telemetry", using: ["TestKit", "TokenModel", logging]),
        tests(of: "SystemSupport", using: ["TestKit", "TokenModel", nioCore, nioEmbedded, nioPosix]),
        tests(of: "TextCoding", using: ["TokenModel"]),
        tests(of: "HTTPWire", using: ["Properties", nioCore, nioEmbedded, nioHTTP1]),
        tests(of: "HTTPCaching", using: ["HTTPWire", "Properties", "TestKit", "TextCoding", "TokenModel", nioCore]),
        tests(of: "OAuth", using: ["TokenModel"]),
        tests(
            of: "ProviderClient",
            using: [
                "OAuth", "TestKit", "TokenModel", crypto, cryptoExtras, logging, nioCore, nioPosix, nioSSL,
            ]
        ),
        tests(
            of: "TokenStorage",
            using: ["TestKit", "TokenModel", "TokenStoragePostgreSQL", "TokenStorageRedis", "TokenStorageSQLite"]
        ),
        tests(
            of: "TokenStorageSQLite",
            using: ["TestKit", "TokenModel", "TokenStorage", database, databaseEngine]
        ),
        tests(of: "TokenStoragePostgreSQL", using: ["TestKit", "TokenModel", "TokenStorage"]),
        tests(of: "TokenStorageRedis", using: ["TestKit", "TokenModel", "TokenStorage"]),
        tests(
            of: "Audit",
            using: ["Simulation", "TestKit", "TokenModel", "TokenStorage", "TokenStorageSQLite", crypto, logging]
        ),
        tests(
            of: "KillSwitch",
            using: ["OAuth", "ProviderClient", "Simulation", "TestKit", "TokenModel", "TokenStorage", logging]
        ),
        tests(of: "Approvals", using: ["Simulation", "TestKit", "TokenModel", "TokenStorage", logging]),
        tests(
            of: "TokenRefresh",
            using: [
                "KillSwitch", "OAuth", "ProviderClient", "Simulation", "TestKit", "TokenModel", "TokenStorage", logging,
            ]
        ),
        tests(
            of: "SignIn",
            using: [
                "Audit", "KillSwitch", "OAuth", "ProviderClient", "Simulation", "TestKit", "TextCoding", "TokenModel",
                "TokenRefresh",
                "TokenStorage", crypto, logging,
            ]
        ),
        tests(
            of: "Proxy",
            using: [
                "HTTPCaching", "HTTPWire", "TextCoding", "SystemSupport", "TestKit", "Telemetry", "TokenModel", crypto,
                logging, nioCore,
                nioEmbedded, nioHTTP1, nioPosix, nioSSL,
            ]
        ),
        tests(of: "Settings", using: ["TextCoding", "SystemSupport", "OAuth", "TestKit", "TokenModel"]),
        tests(
            of: "AdminAPI",
            using: [
                "Audit", "KillSwitch", "OAuth", "ProviderClient", "SignIn", "TestKit", "TokenModel", "TokenRefresh",
                "TokenStorage",
                "martlet", asyncHTTPClient, logging, nioCore, nioHTTP1, nioPosix,
            ]
        ),
        tests(
            of: "GatewayServer",
            using: ["Settings", "TestKit", "TokenModel", crypto, logging, nioCore, nioHTTP1, nioPosix]
        ),
        tests(
            of: "AdminCLI",
            using: ["Audit", "GatewayServer", "Settings", "TestKit", "TokenModel", "TokenStorage"]
        ),
        tests(
            of: "MockServers",
            using: ["TestKit", "TextCoding", "TokenModel", "martlet-mock", crypto, nioCore, nioPosix, nioSSL]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "TestKit", "TokenModel", "TokenStorage", "TokenStorageSQLite", "martlet", "martlet-mock", crypto,
            ],
            swiftSettings: settings(of: "EndToEndTests")
        ),
    ]
)

// MARK: - Fuzzers: scripts/fuzz builds them, apart from all else, with what libFuzzer needs

if Context.environment["MARTLET_FUZZ"] != nil {
    for name in ["RequestHead", "Chunks", "Target", "Rewrite", "Caching", "ProviderResponse", "AuthorizationResponse"] {
        package.targets.append(
            .executableTarget(
                name: "Fuzz\(name)",
                dependencies: ["Properties"],
                path: "Tests/Fuzz/\(name)",
                // libFuzzer has the main function.
                swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]
            )
        )
        package.products.append(.executable(name: "Fuzz\(name)", targets: ["Fuzz\(name)"]))
    }
}
