internal import Glibc

/// What decides whether a secret in a file is kept well.
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

    /// What the system says of a file.
    init(_ status: stat) {
        self.init(
            owner: status.st_uid,
            mode: status.st_mode & 0o7777,
            isRegular: status.st_mode & S_IFMT == S_IFREG
        )
    }

    /// Whether a directory with this owner and mode keeps the files of `user` in it from everybody else but root.
    package func isKeptByOwner(from user: UInt32) -> Bool {
        let isSticky = self.mode & 0o1000 != 0
        return !self.isForeign(to: user) && (isSticky || self.mode & 0o022 == 0)
    }

    /// For the operator: who owns it, what its mode allows, and who `user` is that asks.
    package func description(for user: UInt32) -> String {
        "mode 0\(String(self.mode, radix: 8)), owner \(self.owner), and this process is user \(user)"
    }

    /// Whether the file's group or everybody may read or write it.
    var isOpenToOthers: Bool { self.mode & 0o066 != 0 }

    /// Whether a secret here is to be refused.
    ///
    /// The read mode counts only where this user is the one who can set it right: a file that somebody else mounted may
    /// have any. Of another user's file nobody but that user may be able to change it, neither this one nor others.
    /// - Parameters:
    ///   - user: this process's effective user.
    ///   - access: what the system says about writing the file as that user.
    ///   - mayBelongToOthers: `false` for what this user makes by itself: then another user's is refused in any case.
    package func isExposed(to user: UInt32, access: WriteAccess, mayBelongToOthers: Bool = true) -> Bool {
        guard self.isForeign(to: user) else { return self.isLeftOpen(by: user, access: access) }
        return !mayBelongToOthers || access == .allowed || self.isWritableForOthers
    }

    /// Whether the file's group or everybody may write it.
    var isWritableForOthers: Bool { self.mode & 0o022 != 0 }

    /// Whether it is neither this user's nor root's: its owner can change it at any time.
    package func isForeign(to user: UInt32) -> Bool { self.owner != user && self.owner != 0 }

    /// Whether others can read or write the file, and this user could have prevented that, whoever owns it.
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

/// The system's answer to "may I write this file?".
package enum WriteAccess: Sendable {
    case allowed
    /// By its mode; its owner could still change that.
    case denied
    /// Nobody may, not even root.
    case readOnlyFilesystem
}
