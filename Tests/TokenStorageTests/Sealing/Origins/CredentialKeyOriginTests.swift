import TestKit
import Testing
import TokenModel
import TokenStorage

/// Keys that systemd hands to a service.
struct CredentialKeyOriginTests {
    private let directory: TemporaryDirectory
    private static let keys = """
        AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
        AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=

        """

    init() throws { self.directory = try TemporaryDirectory() }

    @Test func `a credential is a file of keys`() async throws {
        try write(Self.keys, to: self.directory.path(of: "martlet-key"), mode: 0o400)

        let keys = try await CredentialKeyOrigin("martlet-key", in: self.directory.path).keys(offered: nil)

        #expect(try keys.existing()?.ids.count == 2)
        #expect(keys.name == self.directory.path(of: "martlet-key"))
    }

    @Test(arguments: [nil, "", "relative"]) func `outside of a service the message says what the unit needs`(
        directory: String?
    ) async {
        let origin = CredentialKeyOrigin("martlet-key", in: directory)

        let error = await #expect(throws: KeyRingError(.missing, "")) { _ = try await origin.keys(offered: nil) }

        #expect(error?.message.contains("CREDENTIALS_DIRECTORY is not set") == true)
        #expect(error?.message.contains("LoadCredential=martlet-key:PATH") == true)
        #expect(error?.message.contains("SetCredentialEncrypted=") == true)
    }

    @Test func `a credential that the unit lacks is named, and none is made`() async throws {
        let origin = CredentialKeyOrigin("martlet-key", in: self.directory.path)

        let error = await #expect(throws: KeyRingError(.missing, "")) { _ = try await origin.keys(offered: nil) }

        #expect(error?.message.hasPrefix("there is no credential martlet-key in \(self.directory.path)") == true)
        #expect(try self.directory.contents() == [])
    }

    @Test func `a credential that others can read is refused`() async throws {
        try write(Self.keys, to: self.directory.path(of: "martlet-key"), mode: 0o644)
        let origin = CredentialKeyOrigin("martlet-key", in: self.directory.path)

        await #expect(throws: KeyRingError(.exposed, "")) { _ = try await origin.keys(offered: nil) }
    }
}
