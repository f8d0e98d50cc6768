internal import SystemSupport
internal import TokenModel
internal import TokenStorage

extension LockOrder {
    private static let fields = ["reason", "all_replicas", "now"]

    init(_ body: [UInt8]) throws(AdminError) {
        var fields = try JSONFields(body)
        self.init(
            reason: try fields.reason("reason"),
            isForAllReplicas: try fields.flagIfPresent("all_replicas") ?? false,
            isNow: try fields.flagIfPresent("now") ?? false
        )
        try fields.finish(expected: Self.fields)
    }
}

/// An unlock as an operator orders it.
struct UnlockRequest: Sendable {
    /// `nil` if the gateway gets its key itself.
    let offered: OfferedKey?

    private static let fields = ["passphrase", "key"]

    /// Reads a body, which may be empty.
    init(_ body: [UInt8]) throws(AdminError) {
        guard !body.isEmpty else {
            self.offered = nil
            return
        }
        var fields = try JSONFields(body)
        let passphrase = try fields.secretIfPresent("passphrase")
        let key = try fields.secretIfPresent("key")
        try fields.finish(expected: Self.fields)
        switch (passphrase, key) {
        case (nil, nil): self.offered = nil
        case (let passphrase?, nil):
            guard (1...PassphraseKeyOrigin.longestPassphrase).contains(passphrase.count) else {
                throw .invalidField(
                    "passphrase",
                    "passphrase has not 1 to \(PassphraseKeyOrigin.longestPassphrase) bytes"
                )
            }
            self.offered = .passphrase(passphrase)
        case (nil, let key?):
            guard (1...SecretFile.sizeLimit).contains(key.count) else {
                throw .invalidField("key", "key has not 1 to \(SecretFile.sizeLimit) bytes")
            }
            self.offered = .key(key)
        case (_?, _?):
            throw .invalidField("key", "key and passphrase are given together; one of them opens the store")
        }
    }
}

/// An approval as an operator gives it.
struct ApprovalRequest: Equatable, Sendable {
    let account: AccountID

    init(_ body: [UInt8]) throws(AdminError) {
        var fields = try JSONFields(body)
        self.account = try fields.account("account")
        try fields.finish(expected: ["account"])
    }
}
