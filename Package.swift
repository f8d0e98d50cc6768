// swift-tools-version: 6.3

import PackageDescription

// The house, top-down: a target may use only what stands above it.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
]

func room(_ name: String, uses dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func program(_ name: String, uses dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(of name: String, using dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: [.target(name: name)] + dependencies,
        swiftSettings: settings
    )
}

let package = Package(
    name: "martlet",
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2")
    ],
    targets: [
        .target(name: "CShims"),
        room("TokenModel", uses: ["CShims"]),
        room("HTTPWire", uses: [.product(name: "NIOCore", package: "swift-nio")]),
        room("TokenStorage", uses: ["TokenModel"]),
        room(
            "Proxy",
            uses: [
                "HTTPWire", "TokenModel",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        tests(of: "TokenModel"),
    ]
)
