import HTTPWire
import NIOCore

extension Property {
    /// No reader gets from an accepted target to another place than the gateway's route. This holds whether the reader
    /// decodes before or after it splits, and whatever it takes for a separator.
    package static let target = Property("Target") { input in
        for method in ["GET", "OPTIONS"] {
            let head = Array("\(method) ".utf8) + input + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            guard case .taken(let request, let rest) = RequestReading([head[...]]), rest.isEmpty else { continue }
            try require(request.bytes.readableBytes == head.count, "a target that ends the head")
            if request.target.isAsterisk {
                try require(input == [0x2A] && method == "OPTIONS", "a * that is none")
                continue
            }
            let target = request.target
            let path = request.bytes.bytes(target.path.lower, target.path.upper)
            let query = request.bytes.bytes(target.query.lower, target.query.upper)
            let authority = target.authority.map { request.bytes.bytes($0.lower, $0.upper) }
            try require(input.suffix(path.count + query.count).elementsEqual(path + query), "path and query are others")
            try require(query.isEmpty || query[0] == 0x3F, "a query without ?")
            try require(!path.contains(0x3F), "? in a path")
            try require(authority == nil ? path.first == 0x2F : path.isEmpty || path[0] == 0x2F, "a path without /")
            let host = request.bytes.bytes(request.host.lower, request.host.upper)
            try require(authority.map { $0 == host } ?? true, "another host than the target's")
            try Self.checkPath(path)
            try Self.checkRewriting(of: request, path, query)
        }
    }

    private static func checkPath(_ path: [UInt8]) throws {
        try require(!path.starts(with: [0x2F, 0x2F]), "an empty first segment")
        try require(!path.contains(0x5C), "a backslash")
        let decoded = try Self.decoded(path)
        try require(!decoded.contains { $0 < 0x20 || $0 == 0x7F }, "a control character behind a percent sign")
        // Check each way in which a reader may split the path.
        for view in [path, decoded] {
            for separators in [[0x2F], [0x2F, 0x5C]] as [[UInt8]] {
                for segment in view.split(omittingEmptySubsequences: false, whereSeparator: { separators.contains($0) })
                {
                    let name = segment.prefix { $0 != 0x3B }
                    try require(
                        !name.elementsEqual([0x2E]) && !name.elementsEqual([0x2E, 0x2E])
                            && !segment.elementsEqual([0x2E, 0x2E]),
                        "a dot segment"
                    )
                }
            }
        }
        try require(!Self.hasOverlongForm(decoded), "overlong UTF-8")
    }

    private static func decoded(_ path: [UInt8]) throws -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = path[...]
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                decoded.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), rest.count >= 2,
                rest.prefix(2).allSatisfy({ $0 != 0x2B && $0 != 0x2D })
            else { throw Violation("a percent sign without two digits") }
            decoded.append(value)
            rest = rest.dropFirst(2)
        }
        return decoded
    }

    /// Whether a lead byte and its continuation encode a character that has a shorter form (RFC 3629 §3).
    private static func hasOverlongForm(_ bytes: [UInt8]) -> Bool {
        for (lead, next) in zip(bytes, bytes.dropFirst()) {
            if lead == 0xE0, next >= 0x80, next < 0xA0 { return true }
            if lead == 0xF0, next >= 0x80, next < 0x90 { return true }
        }
        return bytes.contains { $0 == 0xC0 || $0 == 0xC1 }
    }

    /// Checks that the rewritten target stays below the upstream's path, and that only the prefix has changed.
    private static func checkRewriting(of request: RequestHead, _ path: [UInt8], _ query: [UInt8]) throws {
        let upstream = UpstreamRequest(path: "/v2/", host: "b", via: nil, injectedName: "Authorization")
        let first = path.dropFirst().firstIndex(of: 0x2F).map { $0 + 1 }
        for prefix in [0, 1, first].compactMap({ $0 }) where prefix <= max(1, path.count) {
            let head = upstream.head(for: request, replacing: prefix, framing: .none, spare: 0)
            let line = Array(head.readableBytesView.prefix { $0 != 0x0D })
            let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
            let rest = prefix == 0 ? Array(path.dropFirst()) : Array(path.dropFirst(prefix))
            let expected = Array("/v2/".utf8) + rest + query
            try require(parts.count == 3 && Array(parts[1]) == expected, "another target: \(line.text)")
        }
    }
}
