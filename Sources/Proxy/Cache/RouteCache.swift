import HTTPCaching
import HTTPWire
import NIOCore
import TokenModel

/// The response cache of one route, as one configuration of the route uses it. All event loops share the stored
/// responses.
///
/// A reload keeps the responses of a route whose configuration is unchanged. Under any other configuration the route has
/// another ``generation``, and responses of an earlier one are never found.
final class RouteCache: Sendable {
    let configuration: CacheConfiguration
    let responses: ResponseCache
    private let route: RouteConfiguration
    private let generation: UInt32
    /// What `Vary` can see of the requests that go upstream.
    let sentFields: SentFields
    /// The names of the configuration's key fields.
    private let keyFields: [[UInt8]]
    /// The route's, with a slash at both ends.
    private let path: [UInt8]

    private init(
        _ configuration: CacheConfiguration,
        of route: RouteConfiguration,
        generation: UInt32,
        responses: ResponseCache
    ) {
        self.configuration = configuration
        self.route = route
        self.generation = generation
        self.responses = responses
        self.sentFields = SentFields(
            injectedName: route.injection.header,
            asksForIdentity: route.retryOn.contains { $0.body != nil },
            appendsForwarded: route.appendsForwarded
        )
        self.path = Array(route.path.utf8)
        self.keyFields = configuration.keyFields.map { Array($0.utf8) }
    }

    /// The cache for a route's configuration.
    ///
    /// - Parameter old: that of the route of this name in the table before.
    /// - Returns: `old` where the route has none any more.
    static func following(_ old: RouteCache?, for route: RouteConfiguration) -> RouteCache? {
        guard let configuration = route.cache else { return old }
        if let old, old.route == route { return old }
        let responses =
            old?.responses
            ?? ResponseCache(maxSize: configuration.maxSize, maxObject: configuration.rules.maxObject)
        return RouteCache(
            configuration,
            of: route,
            generation: (old?.generation ?? 0) &+ 1,
            responses: responses
        )
    }

    var rules: CacheRules { self.configuration.rules }

    /// Applies the bounds of this configuration to what an earlier one has stored.
    func resize() {
        self.responses.resize(maxSize: self.configuration.maxSize, maxObject: self.configuration.rules.maxObject)
    }
}

// MARK: - Keys

extension RouteCache {
    /// The key under which responses to a request are stored: the resource, then everything else that tells requests
    /// apart. Each part has its length ahead of it, so no two requests that differ have the same key.
    ///
    /// - Parameters:
    ///   - prefix: how much of the request's path the route's path covers.
    ///   - account: whose token fetches responses. Its slot has another number on each event loop.
    ///   - caller: the caller's name; `nil` if callers have none.
    /// - Returns: `nil` if an upstream may take one of the request's fields for a key field, and another may not.
    func key(for request: RequestHead, prefix: Int, account: AccountID, caller: String?) -> CacheKey? {
        var key = self.resourceBytes(of: request, prefix: prefix)
        let resourceLength = key.bytes.count
        // Not a part of the resource: an unsafe request that began before a reload invalidates what came after it.
        key.append(number: self.generation)
        key.append(text: account.rawValue)
        key.append(text: self.configuration.isSharedByCallers ? nil : caller)
        let source = request.bytes.readableBytesUInt8Span
        for name in self.keyFields {
            guard !request.hasTwin(of: name) else { return nil }
            // A field that does not go upstream can't change the response.
            let values = request.fields.filter { !$0.isStripped && source.matches($0.name, lowercase: name) }
            key.append(number: UInt32(values.count))
            for field in values { key.append([field.value], of: source) }
        }
        return CacheKey(key.bytes, resourceLength: resourceLength)
    }

    /// Names a resource of this route, for a path and query as callers write them.
    func resource(_ target: [UInt8]) -> CacheKey {
        var key = KeyBytes(minimumCapacity: 8 + target.count)
        key.append(bytes: target)
        return CacheKey(resource: key.bytes)
    }

    /// The resource that a request is for.
    func resource(of request: RequestHead, prefix: Int) -> CacheKey {
        CacheKey(resource: self.resourceBytes(of: request, prefix: prefix).bytes)
    }

    /// The route's path in one spelling, and the rest as the upstream gets it.
    private func resourceBytes(of request: RequestHead, prefix: Int) -> KeyBytes {
        let path = request.target.path
        let query = request.target.query
        var key = KeyBytes(minimumCapacity: 96 + self.path.count + path.count + query.count)
        key.append(
            [ByteRange(path.lower + prefix, path.upper), query],
            of: request.bytes.readableBytesUInt8Span,
            behind: self.path
        )
        return key
    }

    /// Whether a stored response is for that account, and for a path and query that begin so.
    ///
    /// - Parameters:
    ///   - account: `nil` for all.
    ///   - path: as callers write it; `nil` for all.
    static func matches(_ key: CacheKey, account: AccountID?, path: [UInt8]?) -> Bool {
        if let account, !Self.accountBytes(of: key).elementsEqual(account.rawValue.utf8) { return false }
        guard let path else { return true }
        return key.resource.dropFirst(KeyBytes.numberSize).starts(with: path)
    }

    /// Whether the key is one of this configuration.
    func isOfThisGeneration(_ key: CacheKey) -> Bool {
        var bytes = key.bytes.dropFirst(key.resourceLength)
        return KeyBytes.number(&bytes) == self.generation
    }

    /// The account that a stored response is for.
    static func account(of key: CacheKey) -> AccountID {
        AccountID(String(decoding: Self.accountBytes(of: key), as: UTF8.self))
    }

    private static func accountBytes(of key: CacheKey) -> ArraySlice<UInt8> {
        var bytes = key.bytes.dropFirst(key.resourceLength + KeyBytes.numberSize)
        return KeyBytes.number(&bytes).map { bytes.prefix(Int($0)) } ?? []
    }
}

/// Builds a key from parts of known length.
private struct KeyBytes {
    static let numberSize = 4

    private(set) var bytes: [UInt8] = []

    init(minimumCapacity: Int) { self.bytes.reserveCapacity(minimumCapacity) }

    mutating func append(number: UInt32) {
        for shift in stride(from: 24 as UInt32, through: 0, by: -8) {
            self.bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    mutating func append(bytes: [UInt8]) {
        self.append(number: UInt32(bytes.count))
        self.bytes += bytes
    }

    /// - Parameter text: `nil` is different from the empty text.
    mutating func append(text: String?) {
        guard let text else { return self.append(number: .max) }
        self.append(number: UInt32(text.utf8.count))
        self.bytes += text.utf8
    }

    mutating func append(_ ranges: [ByteRange], of source: Span<UInt8>, behind start: [UInt8] = []) {
        self.append(number: UInt32(ranges.reduce(start.count) { $0 + $1.count }))
        self.bytes += start
        for range in ranges {
            // The buffer is read during the call only.
            unsafe source.extracting(range.lower..<range.upper).withUnsafeBufferPointer {
                unsafe self.bytes.append(contentsOf: $0)
            }
        }
    }

    static func number(_ bytes: inout ArraySlice<UInt8>) -> UInt32? {
        guard bytes.count >= Self.numberSize else { return nil }
        var number: UInt32 = 0
        for _ in 0..<Self.numberSize { number = number << 8 | UInt32(bytes.removeFirst()) }
        return number
    }
}
