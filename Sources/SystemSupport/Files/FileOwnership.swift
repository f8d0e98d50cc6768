internal import Glibc

/// A file's owner, permissions and kind. They decide whether a secret in the file is protected.
package struct FileOwnership: Equatable, Sendable {
    package let owner: UInt32
    /// The permission bits.
    package let mode: UInt32
    package let isRegular: Bool

    package init(owner: UInt32, mode: UInt32, isRegular: Bool = true) {
        self.owner = owner
        self.mode = mode
        self.isRegular = isRegular
    }

    /// Takes the values from the system's description of a file (stat(2)).
    init(_ status: stat) {
        self.init(
            owner: status.st_uid,
            mode: status.st_mode & 0o7777,
            isRegular: status.st_mode & S_IFMT == S_IFREG
        )
    }

    /// Whether nobody but `user` and root can remove or replace `user`'s files in a directory with this owner and
    /// mode.
    package func isKeptByOwner(from user: UInt32) -> Bool {
        let isSticky = self.mode & 0o1000 != 0
        return !self.isForeign(to: user) && (isSticky || self.mode & 0o022 == 0)
    }

    /// A text for the operator: the file's mode, its owner, and the process's own user, `user`.
    package func description(for user: UInt32) -> String {
        "mode 0\(String(self.mode, radix: 8)), owner \(self.owner), and this process is user \(user)"
    }

    /// Whether the file's group or everybody may read or write it.
    var isOpenToOthers: Bool { self.mode & 0o066 != 0 }

    /// Whether a secret in this file must be refused.
    ///
    /// If the file belongs to this user or to root, open permissions count only if this user could have corrected the
    /// mode: a mounted file may have any mode. If the file belongs to another user, nobody but that user may be able
    /// to write it: neither this process nor others.
    /// - Parameters:
    ///   - user: the effective user of this process.
    ///   - access: whether the system lets that user write the file.
    ///   - mayBelongToOthers: `false` for a file that this user creates itself; then another user's file is always
    ///     refused.
    package func isExposed(to user: UInt32, access: WriteAccess, mayBelongToOthers: Bool = true) -> Bool {
        guard self.isForeign(to: user) else { return self.isLeftOpen(by: user, access: access) }
        return !mayBelongToOthers || access == .allowed || self.isWritableForOthers
    }

    /// Whether the file's group or everybody may write it.
    var isWritableForOthers: Bool { self.mode & 0o022 != 0 }

    /// Whether the file belongs neither to `user` nor to root. Such an owner can change it at any time.
    package func isForeign(to user: UInt32) -> Bool { self.owner != user && self.owner != 0 }

    /// Whether others can read or write the file although this user could have prevented that. The owner does not
    /// matter.
    package func isLeftOpen(by user: UInt32, access: WriteAccess) -> Bool {
        let couldWrite =
            switch access {
            case .allowed: true
            case .denied: self.owner == user
            case .readOnlyFilesystem: false
            }
        return couldWrite && self.isOpenToOthers
    }

    /// Whether this process's effective user may write the file at `path`.
    static func writeAccess(to path: String) -> WriteAccess {
        if unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 { return .allowed }
        return errno == EROFS ? .readOnlyFilesystem : .denied
    }
}

/// Whether the system lets the process write a file.
package enum WriteAccess: Sendable {
    case allowed
    /// Denied by the file's mode. The owner could still change the mode.
    case denied
    /// Nobody may write, not even root.
    case readOnlyFilesystem
}
