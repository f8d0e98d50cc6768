internal import Glibc
internal import LocalFiles
internal import TokenStorage

/// The file that a database lives in, checked before SQLite sees it.
struct DatabaseFile: Sendable {
    let path: String
    private let identity: Identity

    /// Which file stands at a path, whatever its name.
    private struct Identity: Equatable, Sendable {
        let device: dev_t
        let inode: ino_t

        init(_ status: stat) {
            self.device = status.st_dev
            self.inode = status.st_ino
        }
    }

    /// Makes the file where there is none, and takes it and its companions (`-wal`, `-shm`, `.lock`) away from other users.
    ///
    /// Refuses symbolic links, which whoever made them can point elsewhere while we believe to be alone with the file, and
    /// files of other users, who can read and change what is theirs whatever its mode.
    ///
    /// Nothing is opened here: to close any descriptor of a database file drops the locks that this process holds on it
    /// through SQLite.
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

    /// Refuses to go on with a database whose file was taken away or replaced: SQLite would go on with the old one, and
    /// what it acknowledges would be lost with this process.
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

    /// Takes the file at `path`, if there is one, away from other users; refuses what can't be trusted.
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

    /// Of what stands at the path itself, also if that is a link.
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
