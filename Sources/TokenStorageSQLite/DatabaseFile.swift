internal import Glibc
internal import SystemSupport
internal import TokenStorage

/// The file of a database, which is checked before SQLite opens it.
struct DatabaseFile: Sendable {
    let path: String
    private let identity: Identity

    /// The identity of a file, whatever its name.
    private struct Identity: Equatable, Sendable {
        let device: dev_t
        let inode: ino_t

        init(_ status: stat) {
            self.device = status.st_dev
            self.inode = status.st_ino
        }
    }

    /// Makes the file if there is none, and removes other users' access to it and its companions (`-wal`, `-shm`,
    /// `.lock`).
    ///
    /// Rejects symbolic links, because their owner can change their target while this process believes it has the file
    /// to itself. Rejects files of other users, who can read and change their own files whatever the mode.
    ///
    /// Opens nothing: closing any descriptor of a database file drops the locks that this process holds on it through
    /// SQLite.
    init(preparing path: String) throws(StoreError) {
        let status: stat
        if let found = try Self.status(of: path) {
            status = found
        } else {
            try Self.make(path)
            guard let made = try Self.status(of: path) else {
                throw StoreError(.unreachable, "the database \(path) was removed right after it had been made")
            }
            status = made
        }
        try Self.checkOwn(status, at: path)
        guard status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            throw StoreError(
                .unreachable,
                "the database \(path) is \(isDirectory ? "a directory" : "no regular file"); store.path names a file"
            )
        }
        self.path = path
        self.identity = Identity(status)
        for companion in [path, path + "-wal", path + "-shm", path + ".lock"] { try Self.restrict(companion) }
    }

    /// Rejects a database whose file was removed or replaced. SQLite would continue to use the old file, and what it
    /// acknowledges would be lost with this process.
    func checkInPlace() throws(StoreError) {
        guard let status = try Self.status(of: self.path), Identity(status) == self.identity else {
            throw StoreError(
                .unreachable,
                "the database \(self.path) was removed or replaced while it was in use; "
                    + "put the file back, or restart to use the one that is there"
            )
        }
    }

    /// Makes an empty file without opening it.
    private static func make(_ path: String) throws(StoreError) {
        guard unsafe mknod(path, S_IFREG | 0o600, 0) == 0 else {
            let error = SystemCallError(errno, "can't make the database \(path)")
            guard error.number != EEXIST else { return }
            let directory = WholeFile.directory(of: path)
            guard !error.isMissing else {
                throw StoreError(
                    .unreachable,
                    "\(error.message): the directory \(directory) does not exist; make it, or change store.path"
                )
            }
            throw StoreError(.unwritable, "\(error.message); the directory \(directory) must be writable by this user")
        }
        do {
            try WholeFile.synchronize(directory: WholeFile.directory(of: path))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }

    private static func checkOwn(_ status: stat, at path: String) throws(StoreError) {
        guard status.st_mode & S_IFMT != S_IFLNK else {
            throw StoreError(
                .unreadable,
                "the database \(path) is a symbolic link; name the file itself in store.path"
            )
        }
        // Only this user and root are trusted, as with files of secrets.
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw StoreError(
                .unreadable,
                "the database \(path) belongs to another user (uid \(status.st_uid)), who can read and replace it; "
                    + "make it this user's, or run as that user"
            )
        }
    }

    /// Removes other users' access to the file at `path`, if there is one. Rejects a file that can't be trusted.
    static func restrict(_ path: String) throws(StoreError) {
        guard let status = try Self.status(of: path) else { return }
        try Self.checkOwn(status, at: path)
        guard status.st_mode & 0o077 != 0 else { return }
        guard unsafe chmod(path, 0o600) == 0 || errno == ENOENT else {
            throw StoreError(
                .unwritable,
                SystemCallError(errno, "\(path) can be read by other users, and that can't be changed").message
            )
        }
    }

    /// The status of the file at `path`. Does not follow a symbolic link.
    private static func status(of path: String) throws(StoreError) -> stat? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            let error = SystemCallError(errno, "can't look at the database \(path)")
            guard !error.isMissing else { return nil }
            throw StoreError(.unreachable, error.message)
        }
        return status
    }
}
