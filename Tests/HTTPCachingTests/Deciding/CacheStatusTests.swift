import HTTPCaching
import Testing

@Suite struct CacheStatusTests {
    /// RFC 9211 §2.
    static let lines: [(CacheStatus, Int?, String)] = [
        (.hit(ttl: 30), 12, "Age: 12\r\nCache-Status: martlet; hit; ttl=30\r\n"),
        (.hit(ttl: -3), 0, "Age: 0\r\nCache-Status: martlet; hit; ttl=-3\r\n"),
        (.hit(ttl: 0), nil, "Cache-Status: martlet; hit; ttl=0\r\n"),
        (.hit(ttl: 2_147_483_648), nil, "Cache-Status: martlet; hit; ttl=2147483648\r\n"),
        (.hit(ttl: .min), nil, "Cache-Status: martlet; hit; ttl=-9223372036854775808\r\n"),
        (.forwarded(.uriMiss), nil, "Cache-Status: martlet; fwd=uri-miss\r\n"),
        (.forwarded(.varyMiss), nil, "Cache-Status: martlet; fwd=vary-miss\r\n"),
        (.forwarded(.miss, isStored: true), nil, "Cache-Status: martlet; fwd=miss; stored\r\n"),
        (.forwarded(.bypass), nil, "Cache-Status: martlet; fwd=bypass\r\n"),
        (.forwarded(.method), nil, "Cache-Status: martlet; fwd=method\r\n"),
        (.forwarded(.request), nil, "Cache-Status: martlet; fwd=request\r\n"),
        (.forwarded(.partial), nil, "Cache-Status: martlet; fwd=partial\r\n"),
        (
            .forwarded(.stale, status: 304, ttl: 60, isStored: true), 0,
            "Age: 0\r\nCache-Status: martlet; fwd=stale; fwd-status=304; ttl=60; stored\r\n"
        ),
        (
            .forwarded(.stale, status: 503, ttl: -5, detail: "stale-if-error"), nil,
            "Cache-Status: martlet; fwd=stale; fwd-status=503; ttl=-5; detail=stale-if-error\r\n"
        ),
        (
            .forwarded(.uriMiss, ttl: 9, isCollapsed: true), nil,
            "Cache-Status: martlet; fwd=uri-miss; ttl=9; collapsed\r\n"
        ),
        (CacheStatus(.neither), nil, "Cache-Status: martlet\r\n"),
    ]

    @Test(arguments: lines)
    func `RFC 9211 §2: the line says what the cache did`(status: CacheStatus, age: Int?, line: String) {
        #expect(String(decoding: status.lines(age: age), as: UTF8.self) == line)
    }

    @Test func `two that say the same are equal`() {
        #expect(CacheStatus.forwarded(.stale, detail: "a") == .forwarded(.stale, detail: "a"))
        #expect(CacheStatus.forwarded(.stale, detail: "a") != .forwarded(.stale, detail: "b"))
    }
}
