internal import AdminCLI
internal import Testing

@Suite struct LoginPlanTests {
    private static let desktop = ["DISPLAY": ":0", "PATH": "/usr/local/bin:/usr/bin"]

    /// A machine with the given variables, files and programs.
    private static func machine(
        _ environment: [String: String],
        files: Set<String> = [],
        programs: Set<String> = ["/usr/bin/xdg-open", "/usr/bin/firefox"]
    ) -> LoginSurroundings {
        LoginSurroundings(
            environment: environment,
            exists: { files.contains($0) },
            isExecutable: { programs.contains($0) }
        )
    }

    @Test(
        arguments: [
            (Self.desktop, [], "/usr/bin/xdg-open"),
            (["WAYLAND_DISPLAY": "wayland-0", "PATH": "/usr/bin"], [], "/usr/bin/xdg-open"),
            (["PATH": "/usr/bin"], [], nil), (["DISPLAY": "", "PATH": "/usr/bin"], [], nil),
            // No program, or only one in a directory that may belong to anybody.
            (["DISPLAY": ":0", "PATH": "/bin"], [], nil), (["DISPLAY": ":0", "PATH": "usr/bin:."], [], nil),
            // A forwarded screen of X11 is far from here; a named browser is meant.
            (Self.desktop.merging(["SSH_CONNECTION": "a b"]) { $1 }, [], nil),
            (["BROWSER": "firefox", "PATH": "/usr/bin", "SSH_CONNECTION": "a b"], [], "/usr/bin/firefox"),
            (["BROWSER": "none:firefox -new", "PATH": "/usr/bin"], [], "/usr/bin/firefox"),
            (["BROWSER": "./firefox", "PATH": "/usr/bin"], [], nil),
            // In a container no browser reaches loopback, unless somebody says so.
            (["BROWSER": "firefox", "PATH": "/usr/bin"], ["/.dockerenv"], "/usr/bin/firefox"),
            (Self.desktop, ["/.dockerenv"], nil), (Self.desktop, ["/run/.containerenv"], nil),
            (Self.desktop.merging(["container": "podman"]) { $1 }, [], nil),
            (Self.desktop.merging(["KUBERNETES_SERVICE_HOST": "10.0.0.1"]) { $1 }, [], nil),
        ] as [([String: String], Set<String>, String?)]
    )
    func `without options a browser is opened where there is one, and else the answer is typed in`(
        environment: [String: String],
        files: Set<String>,
        browser: String?
    ) {
        let plan = LoginPlan(wish: nil, opensBrowser: true, in: Self.machine(environment, files: files))
        #expect(plan.way == (browser == nil ? .paste : .loopback))
        #expect(plan.browser?.path == browser)
    }

    @Test func `without opening a browser the port listens all the same`() {
        let plan = LoginPlan(wish: nil, opensBrowser: false, in: Self.machine(Self.desktop))
        #expect(plan.way == .loopback)
        #expect(plan.browser == nil)
        #expect(LoginPlan(wish: nil, opensBrowser: false, in: Self.machine([:])).way == .loopback)
    }

    @Test(arguments: [(LoginWay.device, false), (.paste, false), (.gateway, true)])
    func `a way that was asked for is taken, and only the gateway's opens a browser`(way: LoginWay, opens: Bool) {
        let plan = LoginPlan(wish: way, opensBrowser: true, in: Self.machine(Self.desktop))
        #expect(plan.way == way)
        #expect((plan.browser != nil) == opens)
        #expect(LoginPlan(wish: way, opensBrowser: false, in: Self.machine(Self.desktop)).browser == nil)
    }

    @Test(arguments: [
        ("firefox", ["https://id.example/a?b=%s"]),
        ("firefox --new %s now", ["--new", "https://id.example/a?b=%s", "now"]),
        ("firefox --url=%s", ["--url=https://id.example/a?b=%s"]),
        ("firefox $(reboot) ;", ["$(reboot)", ";", "https://id.example/a?b=%s"]),
    ])
    func `the address is one argument, or a part of one`(command: String, words: [String]) throws {
        let machine = Self.machine(["BROWSER": command, "PATH": "/usr/bin"])
        let browser = try #require(BrowserProgram.find(in: machine))
        let address = try #require(OpenableAddress("https://id.example/a?b=%s"))
        #expect(browser.arguments(for: address) == words)
    }

    @Test(arguments: [
        ("https://id.example/authorize?x=y", true), ("HTTPS://id.example", true), ("http://127.0.0.1:8083/login", true),
        ("http://localhost/", true), ("http://[::1]:80/", true), ("http://id.example/", false),
        ("http://127.0.0.1.id.example/", false), ("http://127.0.0.1@id.example/", false),
        ("https://127.0.0.1@id.example/", false), ("http://[::1", false), ("file:///etc/passwd", false),
        ("javascript:alert(1)", false), ("https:id.example", false), ("https://", false),
        ("-https://id.example", false), ("https://id.example/ x", false), ("", false),
    ])
    func `only encrypted addresses and those on loopback are opened`(address: String, isOpened: Bool) {
        #expect((OpenableAddress(address) != nil) == isOpened)
    }
}
