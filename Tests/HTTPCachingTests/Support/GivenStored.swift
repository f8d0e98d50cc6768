import HTTPCaching
import HTTPWire
import NIOCore
import Synchronization
import Testing
import TokenModel

/// Keys, responses and waiters for tests of the table.
extension Given {
    static func key(_ resource: String, _ requester: String = "") -> CacheKey {
        CacheKey(Array((resource + requester).utf8), resourceLength: resource.utf8.count)
    }

    static let owner = owner("grant")

    static func owner(_ grant: String, scopes: Set<String> = ["read"]) -> CacheOwner {
        CacheOwner(grant: GrantID(rawValue: grant), scopes: scopes, observedEpoch: .start)
    }

    /// The one place where tests of the table make a stored response.
    ///
    /// - Parameter accept: the response's `Vary` names `Accept`, which had this value.
    static func stored(
        _ body: StoredBody = StoredBody([]),
        owner: CacheOwner = owner,
        accept: String? = nil
    ) throws -> StoredResponse {
        StoredResponse(
            head: try self.response(),
            body: body,
            vary: accept.map { VaryValues(name: "accept", value: $0) } ?? VaryValues(),
            owner: owner
        )
    }

    /// A moment on the clock for ages.
    static func second(_ seconds: Int) -> BootInstant {
        BootInstant(nanoseconds: 0).advanced(by: .seconds(1_000 + seconds))
    }

    /// Bytes of which no two neighbours are equal.
    static func bytes(_ count: Int) -> ByteBuffer {
        ByteBuffer(bytes: (0..<count).lazy.map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) | 1 })
    }

    /// A request for whatever the key says.
    static func request(accept: String) throws -> RequestHead { try self.request("GET /a", "Accept: \(accept)") }
}

/// Notes what it is told.
final class RecordingWaiter: CacheWaiter {
    private let noted = Mutex<[CollapseOutcome]>([])

    var outcomes: [CollapseOutcome] { self.noted.withLock { $0 } }

    func settled(_ outcome: CollapseOutcome) { self.noted.withLock { $0.append(outcome) } }
}

/// A request was expected to ask upstream.
struct DoesNotLead: Error {}

extension ResponseCache {
    /// What is stored for `key`.
    func look(_ key: CacheKey, accept: String = "x") throws -> StoredResponse? {
        try self.find(key, for: Given.owner, matching: Given.request(accept: accept)).stored
    }

    /// Begins a request after a look-up.
    func begin(_ key: CacheKey, _ waiter: RecordingWaiter? = nil, at seconds: Int = 0) throws -> CacheBegin {
        let found = try self.find(key, for: Given.owner, matching: Given.request(accept: "x"))
        return self.begin(key, having: found, waiter: waiter, now: Given.second(seconds))
    }

    /// Begins a request that asks upstream.
    func lead(_ key: CacheKey, at seconds: Int = 0) throws -> CacheFill {
        guard case .leads(let fill) = try self.begin(key, at: seconds) else {
            throw DoesNotLead()
        }
        return fill
    }

    /// Stores a response with a body of `count` bytes.
    @discardableResult
    func store(_ key: CacheKey, _ count: Int, owner: CacheOwner = Given.owner, accept: String? = nil) throws
        -> StoredResponse?
    {
        let fill = try self.lead(key)
        guard fill.start(length: count), fill.append(Given.bytes(count)) else { return nil }
        return fill.finish { try? Given.stored($0, owner: owner, accept: accept) }
    }
}
