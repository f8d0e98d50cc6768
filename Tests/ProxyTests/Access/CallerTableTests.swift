import Crypto
import HTTPWire
import Proxy
import Testing
import TokenModel

extension KeyDigest {
    /// The SHA-256 digest of `key`, as `sha256sum` prints it.
    static func of(_ key: String) throws -> KeyDigest {
        try #require(KeyDigest(Array(SHA256.hash(data: Array(key.utf8)))))
    }
}

@Suite struct CallerTableTests {
    private static let key = "martlet_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
    private static let other = "another key: with a colon"

    private let table: CallerTable

    init() throws {
        self.table = CallerTable(
            [
                CallerConfiguration(name: "reports", keys: [try .of(Self.key), try .of("second")]),
                CallerConfiguration(name: "batch", keys: [try .of(Self.other)]),
            ],
            routes: RouteTable([.sample(port: 1)])
        )
    }

    /// - Parameter table: the table to ask; `nil` means the table that all tests share.
    private func caller(
        _ fields: String,
        _ unverified: inout UnverifiedCaller,
        of table: CallerTable? = nil
    ) throws -> String? {
        let request = try RequestHead.parsed("GET /acme/ HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n")
        do throws(GatewayError) {
            return try (table ?? self.table).authenticate(request, &unverified).name
        } catch {
            #expect(error.code == .callerUnknown)
            return nil
        }
    }

    @Test(
        arguments: [
            ("Martlet-Key: \(key)", "reports"),
            ("MARTLET-KEY:  \(key) ", "reports"),
            ("Martlet-Key: second", "reports"),
            ("Martlet-Key: \(other)", "batch"),
            ("Authorization: Bearer \(key)", "reports"),
            ("Authorization: bearer   \(key)", "reports"),
            ("Authorization: Basic \(basic("user:\(key)"))", "reports"),
            ("Authorization: BASIC \(basic(":\(key)"))", "reports"),
            // The user name ends at the first colon. The key may contain more colons.
            ("Authorization: Basic \(basic("user:\(other)"))", "batch"),
            ("Authorization: Basic \(basic("u:second").replacing("=", with: ""))", "reports"),
            // Martlet-Key decides whenever it is present, whatever Authorization says.
            ("Martlet-Key: \(key)\r\nAuthorization: Bearer wrong", "reports"),
            ("Authorization: Bearer \(other)\r\nMartlet-Key: \(key)", "reports"),
            ("Martlet-Key: wrong\r\nAuthorization: Bearer \(key)", nil),
            ("Authorization: Bearer \(key)\r\nMartlet-Key:", nil),
            ("Accept: */*", nil),
            ("Martlet-Account: \(key)", nil),
            ("X-Martlet-Key: \(key)", nil),
            ("Martlet-Key: \(key)x", nil),
            ("Martlet-Key: \(key.dropLast())", nil),
            ("Martlet-Key: \(key.uppercased())", nil),
            ("Martlet-Key: Bearer \(key)", nil),
            ("Authorization: \(key)", nil),
            ("Authorization: Bearer", nil),
            ("Authorization: Token \(key)", nil),
            ("Authorization: Basic \(key)", nil),
            ("Authorization: Basic \(basic(key))", nil),
            ("Authorization: Basic \(basic("\(key):"))", nil),
            ("Authorization: Basic \(basic("user:\(key)"))!", nil),
            ("Authorization: Basic !!!!\(basic(":\(key)"))", nil),
            ("Authorization: Basic", nil),
            ("Authorization: Basic =", nil),
        ] as [(String, String?)]
    )
    func `a key is read from Martlet-Key or Authorization, and from nowhere else`(fields: String, name: String?) throws
    {
        var unverified = UnverifiedCaller(isOnUnixSocket: false)
        #expect(try self.caller(fields, &unverified) == name)
    }

    @Test func `a connection that has authenticated is authenticated again for each request`() throws {
        var unverified = UnverifiedCaller(isOnUnixSocket: false)
        #expect(try self.caller("Authorization: Bearer \(Self.key)", &unverified) == "reports")
        #expect(try self.caller("Authorization: Bearer \(Self.key)", &unverified) == "reports")
        #expect(try self.caller("Accept: */*", &unverified) == nil)
        #expect(try self.caller("Authorization: Bearer \(Self.key.dropLast())x", &unverified) == nil)
        #expect(try self.caller("Authorization: Bearer \(Self.other)", &unverified) == "batch")
        #expect(try self.caller("Authorization: Bearer \(Self.key)", &unverified) == "reports")
    }

    @Test(arguments: ["Martlet-Key: ", "Authorization: Bearer "])
    func `I15_ a shorter or longer key than the one a connection remembers is unknown`(field: String) throws {
        // Given a connection that has authenticated with a key
        var unverified = UnverifiedCaller(isOnUnixSocket: false)
        #expect(try self.caller(field + Self.key, &unverified) == "reports")
        // When prefixes and extensions of that key arrive
        let others = ["", "m", "\(Self.key.dropLast())", "\(Self.key)x", Self.key + Self.key]
        for other in others { #expect(try self.caller(field + other, &unverified) == nil, "\(other.count) bytes") }
        // Then all of them are unknown, and the key itself stays valid
        #expect(try self.caller(field + Self.key, &unverified) == "reports")
    }

    @Test func `a caller known to one table is authenticated anew by the next table`() throws {
        var unverified = UnverifiedCaller(isOnUnixSocket: false)
        let key = "Authorization: Bearer \(Self.key)"
        #expect(try self.caller(key, &unverified) == "reports")
        // Given a configuration without the key, and one in which the key belongs to another caller
        let routes = RouteTable([.sample(port: 1)])
        let later = CallerTable([CallerConfiguration(name: "batch", keys: [try .of(Self.other)])], routes: routes)
        let last = CallerTable([CallerConfiguration(name: "audit", keys: [try .of(Self.key)])], routes: routes)

        #expect(try self.caller(key, &unverified, of: later) == nil)
        #expect(try self.caller(key, &unverified, of: later) == nil)
        #expect(try self.caller(key, &unverified, of: last) == "audit")
    }

    @Test func `a value remembered from one field is not accepted from the other`() throws {
        var unverified = UnverifiedCaller(isOnUnixSocket: false)
        #expect(try self.caller("Authorization: Bearer \(Self.key)", &unverified) == "reports")
        #expect(try self.caller("Martlet-Key: Bearer \(Self.key)", &unverified) == nil)
    }

    @Test func `a key too long to be remembered is valid all the same`() throws {
        let key = String(repeating: "k", count: 2_000)
        let routes = RouteTable([.sample(port: 1)])
        let table = CallerTable([CallerConfiguration(name: "long", keys: [try .of(key)])], routes: routes)
        let request = try RequestHead.parsed("GET / HTTP/1.1\r\nHost: a\r\nMartlet-Key: \(key)\r\n\r\n")
        var unverified = UnverifiedCaller(isOnUnixSocket: false)
        for _ in 1...2 { #expect(try table.authenticate(request, &unverified).name == "long") }
    }

    @Test func `a connection does not reveal its key when it is printed or dumped`() throws {
        var unverified = UnverifiedCaller(isOnUnixSocket: false)
        _ = try self.caller("Martlet-Key: \(Self.key)", &unverified)
        var dumped = ""
        dump(unverified, to: &dumped)
        #expect(!dumped.contains(Self.key) && !"\(unverified)".contains(Self.key))
    }

    @Test(arguments: [0, 31, 33])
    func `a digest has 32 bytes`(count: Int) {
        #expect(KeyDigest([UInt8](repeating: 1, count: count)) == nil)
    }
}

/// Encodes `text` for the `Basic` scheme, with an encoder that shares nothing with the gateway's decoder.
func basic(_ text: String) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    let bits = text.utf8.map { byte in
        String(repeating: "0", count: byte.leadingZeroBitCount) + (byte == 0 ? "" : String(byte, radix: 2))
    }
    .joined()
    var encoded = ""
    var rest = Substring(bits)
    while !rest.isEmpty {
        let six = rest.prefix(6)
        encoded.append(alphabet[Int(six + String(repeating: "0", count: 6 - six.count), radix: 2) ?? 0])
        rest = rest.dropFirst(6)
    }
    return encoded + String(repeating: "=", count: (4 - encoded.count % 4) % 4)
}
