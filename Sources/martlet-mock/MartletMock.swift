internal import ArgumentParser
internal import Glibc
internal import MockServers
internal import SystemSupport
internal import TextCoding
internal import UnixSignals

/// The program: reads the command line and serves until a signal stops it.
@main
struct MartletMock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "martlet-mock",
        abstract: "A scriptable OAuth provider and an API that wants its tokens, in one process.",
        discussion: """
            Everything is in memory. The client is mock-client, its secret mock-secret; everybody's password is
            mock-password.

            EXAMPLE
              martlet-mock --port 9090 --rotate --reuse-detection &
              curl -s localhost:9090/_control/grants -d '{"account": "alice"}'
              curl -s localhost:9090/oauth/token -u mock-client:mock-secret \\
                -d grant_type=refresh_token -d refresh_token=…
              curl -s localhost:9090/api/echo -H 'Authorization: Bearer …'
              curl -s -X PUT localhost:9090/_control/faults \\
                -d '[{"on": "token", "times": 2, "delay": "3s", "drop": "after_commit"}]'
              curl -s localhost:9090/_control/stats

            CONTROL
              POST /_control/grants {"account": A}  new tokens for an account
              POST /_control/expire                 all access tokens end now
              PUT  /_control/faults [RULE, …]       what goes wrong from now on; [] for nothing
              PUT  /_control/sign_in {MEMBER, …}    how sign-ins behave from now on; {} for the usual
              GET  /_control/stats                  all that was counted
              GET  /_control/tokens                 all tokens ever given, to look for them where none belongs

            FAULT RULES
              {"on": "token", "times": 2, "delay": "3s", "drop": "after_commit"}
              on: token, revoke or api, also with a path; times: how often, 0 for always; delay before, delay_answer after
              the work; status, headers and body answer instead; drop: before, after_commit or mid_body.

            SIGN-INS
              In the browser at /oauth/authorize, also pushed to /oauth/par, and for devices at
              /oauth/device_authorization. Approved at once, for login_hint or mock-user; openid in the scope yields an
              ID token. Members of /_control/sign_in, all optional:
              account           who signs in, whatever the client asked for
              scope             what is granted, whatever the client asked for
              subject           the sub of ID tokens
              error             how each sign-in ends; also error_description
              iss, state        "missing" or "wrong" in the redirection
              refresh_token     false: the tokens include none
              id_token          "missing", "foreign_key", "unsigned", "expired",
                                "wrong_iss", "wrong_aud" or "wrong_nonce"
              metadata          {"par": false, "par_required": true,
                                 "iss": false, "device": false}
              consent           true: a page asks whether to approve
              device_interval   seconds between the polls of a device
              device_expires_in seconds that a device code lives
              slow_down         how many polls are told to slow down
              token_delay       "3s": token requests of sign-ins wait first

            EXIT CODES
              0 stopped by a signal, 64 usage, 69 the address can't be listened on, 77 not allowed to.
            """
    )

    @Option(help: "The name or address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 lets the system choose one, which is printed.")
    var port: UInt16 = 9090

    @Option(help: ArgumentHelp("Serve HTTPS with these PEM files.", valueName: "cert.pem,key.pem"))
    var tls: TLSFilesArgument?

    @Option(help: ArgumentHelp("How long an access token lives: 500ms, 60s, 5m.", valueName: "duration"))
    var accessTtl = DurationArgument(seconds: 60)

    @Flag(help: "Each refresh token works once and yields the next one.")
    var rotate = false

    @Flag(help: "A refresh kills the older access tokens of the same grant.")
    var rotationKillsAccess = false

    @Flag(help: "A second use of a rotated refresh token revokes everything that descends from the same grant.")
    var reuseDetection = false

    @Option(
        help: ArgumentHelp(
            "For how long a rotated refresh token still yields a new pair after its first use.",
            valueName: "duration"
        )
    )
    var grace = DurationArgument(seconds: 0)

    @Flag(help: "Access tokens are random strings instead of signed JWTs.")
    var opaque = false

    func run() async throws {
        DescriptorLimit.raise()
        let options = MockOptions(
            host: self.host,
            port: Int(self.port),
            tls: self.tls?.files,
            rules: TokenRules(
                accessLifetime: self.accessTtl.duration,
                rotates: self.rotate,
                rotationKillsAccess: self.rotationKillsAccess,
                detectsReuse: self.reuseDetection,
                grace: self.grace.duration
            ),
            opaqueTokens: self.opaque
        )
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        do {
            try await Self.serve(options, until: signals)
        } catch let error as MockServerError {
            Self.tell("martlet-mock: \(error.message)", on: STDERR_FILENO)
            throw ExitCode(error.exitCode)
        }
    }

    private static func serve(_ options: MockOptions, until signals: UnixSignalsSequence) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await MockServer.run(options) { address in
                    Self.tell("martlet-mock listening on \(address)", on: STDOUT_FILENO)
                }
            }
            group.addTask {
                for await _ in signals { return }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Writes a line without buffering, because the process that started the mock waits for it.
    private static func tell(_ line: String, on output: CInt) {
        let bytes = Array("\(line)\n".utf8)
        // The mock keeps serving if the output is closed.
        _ = unsafe bytes.withUnsafeBytes { unsafe write(output, $0.baseAddress, $0.count) }
    }
}

/// A duration on the command line. Its description is the text that the user wrote.
struct DurationArgument: ExpressibleByArgument, CustomStringConvertible {
    let duration: Duration
    let description: String

    init?(argument: String) {
        guard let duration = DurationText.parse(argument) else { return nil }
        self.duration = duration
        self.description = argument
    }

    /// A default value.
    init(seconds: Int64) {
        self.duration = .seconds(seconds)
        self.description = "\(seconds)s"
    }
}

extension MockServerError {
    /// The exit code for the kind of error (sysexits.h).
    var exitCode: Int32 {
        switch self.code {
        case .addressInUse, .addressUnavailable, .listenerFailed: 69
        case .notAllowed: 77
        case .badCertificate: 64
        }
    }
}

/// `cert.pem,key.pem` on the command line.
struct TLSFilesArgument: ExpressibleByArgument {
    let files: MockOptions.TLSFiles

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.files = MockOptions.TLSFiles(certificate: parts[0], privateKey: parts[1])
    }
}
