/// What the field that carries the token may be called and begin with.
enum InjectedField {
    /// Fields that decide where a request ends or goes, or that concern one connection only (RFC 9110 §7.6.1): the
    /// gateway writes or removes these itself.
    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te", "trailer",
        "upgrade", "http2-settings", "proxy-authorization", "proxy-authenticate", "expect", "via", "forwarded",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    ]

    static func checkName(_ name: String) throws(ValueError) {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else {
            throw ValueError("is not the name of a field: letters, digits and !#$%&'*+-.^_`|~ only")
        }
        // Many an upstream reads the one as the other.
        let read = name.lowercased().replacing("_", with: "-")
        guard !Self.reserved.contains(read), !read.hasPrefix("martlet-") else {
            throw ValueError("is a field that the gateway itself writes or removes")
        }
    }

    static func checkPrefix(_ prefix: String) throws(ValueError) {
        guard prefix.utf8.allSatisfy(\.isPrintable) else { throw ValueError("must be printable ASCII") }
        guard !prefix.hasPrefix(" ") else { throw ValueError("must not begin with a space") }
    }
}
