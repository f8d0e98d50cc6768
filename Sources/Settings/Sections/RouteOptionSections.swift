/// The keys of a route's `inject`.
enum InjectKey: String, Vocabulary {
    case header, prefix
}

/// The keys of a route's `replay`.
enum ReplayKey: String, Vocabulary {
    case bodyLimit = "body_limit"
}

/// The keys of a route's `timeouts`.
enum TimeoutKey: String, Vocabulary {
    case connect, response, idle
}

extension ForwardedFields: Vocabulary {}
extension ExpectationMode: Vocabulary {}

extension InjectionSettings {
    init(_ section: Section<InjectKey>) {
        self.header =
            section.read(.header) { place in
                place.parsed { text throws(ValueError) in
                    try InjectedField.checkName(text)
                    return text
                }
            } ?? "Authorization"
        self.prefix = section.read(.prefix) { $0.injectedPrefix() } ?? "Bearer "
    }
}

extension RouteTimeouts {
    init(_ section: Section<TimeoutKey>) {
        let range: ClosedRange<Duration> = .milliseconds(1) ... .hours(24)
        self.connect = section.read(.connect) { $0.duration(in: range) } ?? .seconds(5)
        self.response = section.read(.response) { $0.duration(in: range) } ?? .minutes(5)
        self.idle = section.read(.idle) { $0.duration(in: range) } ?? .minutes(5)
    }
}

extension Place {
    /// What stands before the token: it may be nothing, which is written `""`.
    fileprivate func injectedPrefix() -> String? {
        guard let text = self.text(allowingEmpty: true) else { return nil }
        do throws(ValueError) {
            try InjectedField.checkPrefix(text)
            return text
        } catch {
            self.fault(error.message)
            return nil
        }
    }
}
