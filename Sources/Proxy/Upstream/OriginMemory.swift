import TokenModel

/// What one event loop has learnt of an upstream from its answers. All pools of its host and port share it: what differs
/// between them is how connections are made, not who answers.
final class OriginMemory {
    /// How long an answer of HTTP/1.0 tells what the upstream speaks.
    private static let versionMemory = Duration.seconds(600)

    /// When the last answer came, if it was one of HTTP/1.0.
    private var sawHTTP10: Tick?
    var expectations = Expectations()

    func answered(minorVersion: UInt8, at now: Tick) {
        self.sawHTTP10 = minorVersion == 0 ? now : nil
    }

    func speaksHTTP10(at now: Tick) -> Bool {
        guard let sawHTTP10 = self.sawHTTP10 else { return false }
        return now.duration(since: sawHTTP10) < Self.versionMemory
    }
}

extension UpstreamOrigin {
    /// Who answers there.
    struct Server: Hashable {
        let host: String
        let port: Int
        let speaksTLS: Bool
    }

    var server: Server { Server(host: self.host, port: self.port, speaksTLS: self.tls != nil) }
}
