internal import Crypto
internal import Glibc
internal import LocalFiles
internal import TokenModel

/// A file that says by itself whether it is whole: a mark, the SHA-256 of what follows, and that.
///
/// Nothing in it is secret. The digest tells what a disk has spoilt, not what somebody has changed: whoever may write to
/// `state_dir` could as well take the store away.
enum KeptBytes {
    private static let mark: [UInt8] = Array("martlet1".utf8)

    static func file(of content: Secret) -> Secret {
        let bytes = Self.plain(content)
        return Secret(Self.mark + Array(SHA256.hash(data: bytes)) + bytes)
    }

    /// What the file at `path` holds; `nil` where there is none.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for one that is spoilt, or another user's.
    static func read(_ path: String, limit: Int) throws(StoreError) -> Secret? {
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
            throw StoreError(.unreadable, "the kill log's copy in state_dir: \(error.message)")
        }
        let head = Self.mark.count + SHA256.byteCount
        guard bytes.count >= head, bytes.starts(with: Self.mark),
            Array(SHA256.hash(data: bytes[head...])) == Array(bytes[Self.mark.count..<head])
        else {
            throw StoreError(
                .unreadable,
                "\(path), of the kill log's copy in state_dir, is damaged: put it back from a backup, or move it away to go "
                    + "by the store alone"
            )
        }
        return Secret(bytes[head...])
    }

    private static func plain(_ content: Secret) -> [UInt8] {
        content.withUnredacted { span in span.indices.map { span[$0] } }
    }
}
