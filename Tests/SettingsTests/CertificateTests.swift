import Settings
import Synchronization
import Testing
import TokenModel

/// The code that uses certificates also checks them. The reader reports each result at its position in the file.
@Suite struct CertificateTests {
    /// The questions that the reader asked.
    private final class Questions: Sendable {
        let asked = Mutex<[CertificateQuestion]>([])
    }

    private static let text = SampleFile()
        .provider("tls: { ca: roots.pem }")
        .route("upstream: https://api.example/v2/", "upstream_tls: { ca: roots.pem, certificate: c.pem, key: k.pem }")
        .adding("listeners: [{ address: 127.0.0.1:1, tls: { certificate: c.pem, key: k.pem, client_ca: ca.pem } }]")
        .text

    private func faults(_ answer: @escaping @Sendable (CertificateQuestion) -> String?) -> [String] {
        let surroundings = SettingsEnvironment(
            configurationDirectory: "/e",
            variables: ["HOME": "/h"],
            readSecret: { _ in Secret("k") },
            checkReadable: { _ in },
            certificateFault: answer
        )
        do throws(SettingsError) {
            _ = try SettingsReader(file: "f", surroundings: surroundings).read(Self.text)
            return []
        } catch {
            return error.faults.map(\.description)
        }
    }

    @Test func `each file is asked about once, and each pair if both its files are usable`() {
        let questions = Questions()
        #expect(
            self.faults { question in
                questions.asked.withLock { $0.append(question) }; return nil
            } == []
        )
        let asked = questions.asked.withLock { $0 }
        #expect(asked.count == Set(asked).count)
        #expect(
            Set(asked) == [
                .certificates("/e/roots.pem"), .certificates("/e/c.pem"), .certificates("/e/ca.pem"), .key("/e/k.pem"),
                .pair(CertificateSettings(certificate: "/e/c.pem", key: "/e/k.pem")),
            ]
        )
    }

    @Test func `a fault of a file is reported wherever the file is named`() {
        #expect(
            self.faults { $0 == .certificates("/e/c.pem") ? "is bad" : nil } == [
                "f:13:49: routes[0].upstream_tls.certificate: is bad",
                "f:14:57: listeners[0].tls.certificate: is bad",
            ]
        )
        #expect(
            self.faults { if case .pair = $0 { "no pair" } else { nil } } == [
                "f:13:61: routes[0].upstream_tls.key: no pair", "f:14:69: listeners[0].tls.key: no pair",
            ]
        )
        #expect(self.faults { $0 == .certificates("/e/roots.pem") ? "is bad" : nil }.count == 2)
    }
}
