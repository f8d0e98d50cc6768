internal import Crypto
internal import Glibc
internal import SystemSupport
internal import TokenModel

/// A file in `state_dir` that shows whether it is complete: a mark, the SHA-256 of the content, and the content.
///
/// Nothing in it is secret. The digest detects damage on disk, not tampering: anyone who can write to `state_dir` could
/// also remove the store.
enum KeptBytes {
    private static let mark: [UInt8] = Array("martlet1".utf8)

    static func file(of content: Secret) -> Secret {
        let bytes = Self.plain(content)
        return Secret(Self.mark + Array(SHA256.hash(data: bytes)) + bytes)
    }

    /// What such a file is a part of, for messages.
    struct Owner: Sendable {
        let name: String
        /// What to do about a damaged file, or what follows from it.
        let advice: String

        static let killLog = Owner(
            name: "the kill log's copy in state_dir",
            advice: "put it back from a backup, or move it away to go by the store alone"
        )
        static let lock = Owner(name: "the lock in state_dir", advice: "so it counts as one; martlet unlock removes it")
        static let lockedOrders = Owner(
            name: "what this gateway was told while it was locked",
            advice: "put it back from a backup, or move it away, and what it says has no effect"
        )
    }

    /// The content of the file at `path`; `nil` if there is none.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for a file that is damaged or belongs to another user.
    static func read(_ path: String, limit: Int, of owner: Owner = .killLog) throws(StoreError) -> Secret? {
        let bytes: [UInt8]
        do throws(SystemCallError) {
            let file = try OpenFile(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let ownership = try file.ownership()
            guard ownership.isRegular, ownership.owner == geteuid() else {
                throw SystemCallError(EPERM, "\(path) is not a file of this user's")
            }
            bytes = try file.read(limit: limit)
        } catch {
            guard !error.isMissing else { return nil }
            throw StoreError(.unreadable, "\(owner.name): \(error.message)")
        }
        let head = Self.mark.count + SHA256.byteCount
        guard bytes.count >= head, bytes.starts(with: Self.mark),
            Array(SHA256.hash(data: bytes[head...])) == Array(bytes[Self.mark.count..<head])
        else {
            throw StoreError(.unreadable, "\(path), of \(owner.name), is damaged: \(owner.advice)")
        }
        return Secret(bytes[head...])
    }

    private static func plain(_ content: Secret) -> [UInt8] {
        content.withUnredacted { span in span.indices.map { span[$0] } }
    }
}
