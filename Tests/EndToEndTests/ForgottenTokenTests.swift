import Foundation
import Glibc
import TestKit
import Testing

/// What a gateway's memory still holds of requests that have ended. The tests need root to read the memory.
@Suite struct ForgottenTokenTests {
    /// How many times `text` occurs in the writable memory of a process.
    private func count(_ text: String, inMemoryOf process: Int32) throws -> Int {
        let memory = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(process)/mem"))
        defer { try? memory.close() }
        var count = 0
        for line in try String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 2)
            guard parts.count > 1, parts[1].hasPrefix("rw") else { continue }
            let bounds = parts[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard bounds.count == 2 else { continue }
            try memory.seek(toOffset: bounds[0])
            // Pages that were never touched can't be read.
            guard let bytes = try? memory.read(upToCount: Int(bounds[1] - bounds[0])) else { continue }
            var from = bytes.startIndex
            while let found = bytes[from...].range(of: Data(text.utf8)) {
                count += 1
                from = found.upperBound
            }
        }
        return count
    }

    @Test(arguments: [false, true])
    func `I16_a request head that was sent leaves no copy of its token in memory`(speaksTLS: Bool) async throws {
        // Given a gateway
        let directory = try TemporaryDirectory()
        for (name, text) in [
            ("cert.pem", TestCertificates.selfSigned), ("key.pem", TestCertificates.selfSignedKey),
            ("ca.pem", TestCertificates.selfSigned),
        ] { try directory.write(Array(text.utf8), to: name) }
        let mock: Mock
        if speaksTLS {
            mock = try await Mock("--tls", "cert.pem,key.pem", in: directory)
        } else {
            mock = try await Mock(in: directory)
        }
        let gateway = try await Gateway(
            mock,
            settings: speaksTLS ? "tls: { ca: ca.pem }" : "timeout: 8s",
            in: directory,
            route: speaksTLS ? "upstream_tls: { ca: ca.pem }" : "strip: true"
        )
        let grant = try await mock.grant("alice")
        let members = try #require(try JSONSerialization.jsonObject(with: Data(grant.utf8)) as? [String: Any])
        let token = try #require(members["access_token"] as? String)
        let imported = try await gateway.martlet("accounts", "import", "alice", input: grant)
        try #require(imported.exitCode == 0, "\(imported.errors)")

        // When requests have carried the token: without a body, with small bodies, and with bodies sent separately from
        // the head
        try directory.write(Array(repeating: 0x61, count: 1_000), to: "small")
        try directory.write(Array(repeating: 0x61, count: 200_000), to: "large")
        #expect(try await gateway.statuses(20, "echo") == ["200": 20])
        let bodies = ["small", "large"].map { "@\(directory.path(of: $0))" }
        for body in bodies {
            for framing in ["Content-Type: a/b", "Transfer-Encoding: chunked"] {
                let arguments = ["-H", framing, "-H", "Expect:", "--data-binary", body]
                #expect(try await gateway.statuses(5, "echo", arguments) == ["200": 5])
            }
        }

        // Then only the prepared header lines for the next requests remain. Each is at the beginning of its allocation
        // and follows no other text.
        #expect(try self.count("Authorization: Bearer \(token)\r\n", inMemoryOf: gateway.program.id) > 0)
        #expect(try self.count("\r\nAuthorization: Bearer \(token)", inMemoryOf: gateway.program.id) == 0)
        withExtendedLifetime(mock) {}
    }
}
