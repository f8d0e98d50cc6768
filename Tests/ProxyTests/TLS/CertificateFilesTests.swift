import Proxy
import TestKit
import Testing

/// Errors about unusable certificates, which are reported when the files are read.
@Suite struct CertificateFilesTests {
    private func refusal(_ make: (TLSFiles) throws -> Void) throws -> String {
        let files = try TLSFiles()
        let error = try #require(throws: ProxyError.self) { try make(files) }
        #expect(error.code == .certificateUnusable)
        #expect(!error.message.contains("PRIVATE KEY"))
        #expect(!error.message.contains("\n"))
        return error.message
    }

    @Test func `a key that belongs to another certificate is refused`() throws {
        let listener = try self.refusal { _ = try CallerTLS($0.pair("server", key: "other")) }
        #expect(listener.contains("other.key is not that of the first certificate in "))
        let upstream = try self.refusal {
            _ = try UpstreamTLS(.init(certificateAuthorities: nil, identity: $0.pair("client", key: "other")))
        }
        #expect(upstream.contains("other.key is not that of the first certificate in "))
    }

    @Test func `a key file that others can read is refused`() throws {
        let message = try self.refusal { files in
            try files.setMode(0o640, of: "server.key")
            _ = try CallerTLS(files.pair("server"))
        }
        #expect(message.contains("server.key can be read or written by others (mode 0640, "))
    }

    @Test func `a key file that holds no key is refused`() throws {
        let message = try self.refusal { files in
            _ = try CallerTLS(.init(certificate: files.path("server.pem"), key: files.path("server.pem")))
        }
        #expect(message.hasSuffix("server.pem holds no key in PEM form without a passphrase"))
    }

    @Test(arguments: ["nothing.pem", "missing.pem"])
    func `a file without certificates is refused`(name: String) throws {
        let certificate = try self.refusal { files in
            _ = try CallerTLS(.init(certificate: files.path(name), key: files.path("server.key")))
        }
        #expect(certificate.contains("no certificates could be read from "))
        let authorities = try self.refusal { files in
            _ = try CallerTLS(files.pair("server"), clientAuthorities: files.path(name))
        }
        #expect(authorities.contains(name))
    }
}
