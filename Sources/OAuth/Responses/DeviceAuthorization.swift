package import TokenModel

/// What a person needs to sign in on another device, and the code that tokens are asked for with (RFC 8628 §3.2).
package struct DeviceAuthorization: Sendable {
    /// `device_code`: redeemed for tokens once the person has agreed.
    package let deviceCode: Secret
    /// `user_code`: what the person types; printable, 64 characters at most.
    package let userCode: String
    /// `verification_uri`: where the person types it; `https`, or `http` on loopback.
    package let verificationURI: String
    /// `verification_uri_complete`: the same with the code in it; `nil` if there is none that can be used.
    package let verificationURIComplete: String?
    /// How long the codes are valid, counted from receipt; 10 minutes at most.
    package let lifetime: Duration
    /// How long to wait between two requests for the tokens; 1 s to 60 s.
    package let interval: Duration

    /// The limit of ``lifetime``, which is also assumed if the provider gives none.
    package static let longestLifetime: Duration = .seconds(600)

    package init(
        deviceCode: Secret,
        userCode: String,
        verificationURI: String,
        verificationURIComplete: String?,
        lifetime: Duration,
        interval: Duration
    ) {
        self.deviceCode = deviceCode
        self.userCode = userCode
        self.verificationURI = verificationURI
        self.verificationURIComplete = verificationURIComplete
        self.lifetime = lifetime
        self.interval = interval
    }

    /// Reads the provider's response.
    package init(_ answer: ProviderResponse) throws(EndpointFault) {
        let fields = try ResponseFields.success(in: answer, members: Self.members)
        guard case .string(let deviceCode) = fields["device_code"], TokenSyntax.isRefreshToken(deviceCode),
            let userCode = fields["user_code"]?.asText, Self.isShown(userCode),
            // Google's name for it is older than the RFC.
            let address = fields["verification_uri"] ?? fields["verification_url"],
            let verificationURI = Self.address(address)
        else { throw .malformed(.answerUnreadable) }
        self.init(
            deviceCode: deviceCode,
            userCode: userCode,
            verificationURI: verificationURI,
            verificationURIComplete: fields["verification_uri_complete"].flatMap(Self.address),
            lifetime: Self.seconds(fields["expires_in"], atLeast: 1, atMost: 600, default: 600),
            interval: Self.seconds(fields["interval"], atLeast: 1, atMost: 60, default: 5)
        )
    }

    private static let members: Set<String> = [
        "device_code", "user_code", "verification_uri", "verification_url", "verification_uri_complete", "expires_in",
        "interval",
    ]

    private static func isShown(_ code: String) -> Bool {
        (1...64).contains(code.utf8.count) && code.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// An address that a person may be asked to open. Some pages find their way by the fragment, which
    /// ``ProviderURL`` does not know.
    private static func address(_ value: ResponseValue) -> String? {
        guard let text = value.asText, text.utf8.count <= 2048 else { return nil }
        let address = text.prefix { $0 != "#" }
        guard (try? ProviderURL(String(address))) != nil,
            text.utf8.dropFirst(address.utf8.count).allSatisfy({
                (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0)
            })
        else { return nil }
        return text
    }

    /// Zero and less count as missing.
    private static func seconds(
        _ value: ResponseValue?,
        atLeast shortest: Double,
        atMost longest: Double,
        default missing: Int64
    ) -> Duration {
        guard let seconds = value?.asNumber, seconds > 0 else { return .seconds(missing) }
        return .milliseconds(Int64(min(max(seconds, shortest), longest) * 1000))
    }
}
