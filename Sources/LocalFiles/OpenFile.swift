internal import Glibc
internal import TokenModel

/// An open file, closed at the end of its life. What is asked of it is asked of the same file, even if its name comes to
/// mean another one.
package struct OpenFile: ~Copyable, Sendable {
    let number: Int32
    let path: String

    /// - Parameter flags: as `open(2)` takes them; `O_CLOEXEC` is added.
    package init(opening path: String, _ flags: Int32, mode: UInt32 = 0) throws(SystemCallError) {
        let number = Self.retrying { unsafe Glibc.open(path, flags | O_CLOEXEC, mode) }
        guard number >= 0 else { throw SystemCallError(errno, "can't open \(path)") }
        self.number = number
        self.path = path
    }

    deinit {
        // A process that is just being started has this file too, until its program runs; a lock would live on there.
        _ = flock(self.number, LOCK_UN)
        Glibc.close(self.number)
    }

    /// Writes all of `contents`.
    func write(_ contents: Secret) throws(SystemCallError) {
        var written = 0
        while written < contents.count {
            let count = contents.withUnredacted { span in
                unsafe span.extracting(droppingFirst: written).withUnsafeBytes { bytes in
                    Self.retrying { unsafe Glibc.write(self.number, bytes.baseAddress, bytes.count) }
                }
            }
            guard count > 0 else { throw SystemCallError(errno, "can't write \(self.path)") }
            written += count
        }
    }

    /// Reads up to `limit` bytes from the beginning.
    package func read(limit: Int) throws(SystemCallError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(limit, 16_384))
        while bytes.count < limit {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                Self.retrying {
                    unsafe Glibc.read(self.number, buffer.baseAddress, min(buffer.count, limit - bytes.count))
                }
            }
            guard count >= 0 else { throw SystemCallError(errno, "can't read \(self.path)") }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Returns when what was written would survive a loss of power.
    package func synchronize() throws(SystemCallError) {
        guard Self.retrying({ fsync(self.number) }) == 0 else {
            throw SystemCallError(errno, "can't sync \(self.path)")
        }
    }

    /// What kind of file it is, who owns it and what its mode allows.
    package func ownership() throws(SystemCallError) -> FileOwnership {
        var status = stat()
        guard unsafe fstat(self.number, &status) == 0 else {
            throw SystemCallError(errno, "can't look at \(self.path)")
        }
        return FileOwnership(status)
    }

    /// Again while a signal interrupts.
    static func retrying<Number: FixedWidthInteger>(_ call: () -> Number) -> Number {
        while true {
            let result = call()
            guard result == -1, errno == EINTR else { return result }
        }
    }
}

extension OpenFile {
    /// All of the regular file at `path`. A pipe or a device is refused, and not waited for.
    ///
    /// - Parameters:
    ///   - limit: in bytes; a larger file is refused.
    ///   - isOwn: refuses a file that somebody else than this user and root can have put there, or can change.
    package static func contents(of path: String, limit: Int, isOwn: Bool = false) throws(FileError) -> [UInt8] {
        let contents: Result<[UInt8], FileError>
        do throws(SystemCallError) {
            let file = try OpenFile(opening: path, O_RDONLY | O_NONBLOCK)
            if isOwn, let fault = Self.foreignness(of: try file.ownership(), at: path) {
                contents = .failure(fault)
            } else {
                contents = try Self.contents(of: file, limit: limit)
            }
        } catch {
            throw FileError(error)
        }
        return try contents.get()
    }

    private static func contents(
        of file: borrowing OpenFile,
        limit: Int
    ) throws(SystemCallError) -> Result<[UInt8], FileError> {
        guard try file.ownership().isRegular else { return .failure(FileError(.unreadable, "is not a regular file")) }
        let bytes = try file.read(limit: limit + 1)
        guard bytes.count <= limit else {
            return .failure(FileError(.tooLarge, "is larger than \(limit >> 20)MiB"))
        }
        return .success(bytes)
    }

    private static func foreignness(of file: FileOwnership, at path: String) -> FileError? {
        let user = geteuid()
        var link = stat()
        guard unsafe lstat(path, &link) == 0 else { return FileError(SystemCallError(errno, "can't look at \(path)")) }
        let unnamed = "and nobody has named it: --config names it if it is meant"
        let found = file.description(for: user)
        if file.isForeign(to: user) { return FileError(.exposed, "belongs to another user (\(found)), \(unnamed)") }
        if link.st_uid != user, link.st_uid != 0 {
            let owner = "owner \(link.st_uid), and this process is user \(user)"
            return FileError(.exposed, "is a symbolic link that belongs to another user (\(owner)), \(unnamed)")
        }
        guard file.isWritableForOthers else { return nil }
        return FileError(
            .exposed,
            "others can write it (\(found)), \(unnamed), chmod go-w keeps others from it"
        )
    }
}

extension OpenFile {
    /// Has the first `count` bytes of the file take their room on the disk now, so that to write them later can't fail for
    /// want of it. New ones are zeroes.
    package func allocate(_ count: Int) throws(SystemCallError) {
        // The call gives the error's number back, and leaves errno alone.
        var error: Int32
        repeat { error = posix_fallocate(self.number, 0, count) } while error == EINTR
        guard error == 0 else { throw SystemCallError(error, "can't make room for \(self.path)") }
    }

    /// Writes all of `bytes` from `offset` on, in place of what was there.
    package func write(_ bytes: [UInt8], at offset: Int) throws(SystemCallError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return Self.retrying { unsafe pwrite(self.number, rest.baseAddress, rest.count, offset + written) }
            }
            guard count > 0 else { throw SystemCallError(errno, "can't write \(self.path)") }
            written += count
        }
    }

    /// Takes the lock that is this file's alone (flock(2)): it goes when this opening is closed, or with the process, by
    /// whatever ends that. Never waits.
    ///
    /// - Returns: whether it was to be had.
    package func lock() throws(SystemCallError) -> Bool {
        guard Self.retrying({ flock(self.number, LOCK_EX | LOCK_NB) }) != 0 else { return true }
        guard errno == EWOULDBLOCK else { throw SystemCallError(errno, "can't lock \(self.path)") }
        return false
    }

    /// Lets go of what ``lock()`` took.
    package func unlock() {
        _ = Self.retrying { flock(self.number, LOCK_UN) }
    }

    /// Takes a second lock of this file's, which neither knows of ``lock()`` nor keeps anybody from it (fcntl(2), a lock of
    /// the open file description). Never waits.
    ///
    /// - Returns: whether it was to be had.
    package func lockQueue() -> Bool { self.setQueueLock(F_WRLCK) }

    /// Lets go of what ``lockQueue()`` took.
    package func unlockQueue() { _ = self.setQueueLock(F_UNLCK) }

    private func setQueueLock(_ type: Int32) -> Bool {
        var range = flock()
        range.l_type = Int16(type)
        range.l_whence = Int16(SEEK_SET)
        // F_OFD_SETLK of Linux's <fcntl.h>, which glibc gives to C alone.
        let setLock: Int32 = 37
        return Self.retrying { unsafe fcntl(self.number, setLock, &range) } == 0
    }

    /// Whether its path still names this file, and not another one or none.
    package func isInPlace() throws(SystemCallError) -> Bool {
        var (mine, there) = (stat(), stat())
        guard unsafe fstat(self.number, &mine) == 0 else {
            throw SystemCallError(errno, "can't look at \(self.path)")
        }
        guard unsafe lstat(self.path, &there) == 0 else {
            let error = SystemCallError(errno, "can't look at \(self.path)")
            guard error.isMissing else { throw error }
            return false
        }
        return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino
    }

    /// When the file was changed last, in seconds since 1970, and how many bytes it has.
    package func extent() throws(SystemCallError) -> (changedAt: Int, count: Int) {
        var status = stat()
        guard unsafe fstat(self.number, &status) == 0 else {
            throw SystemCallError(errno, "can't look at \(self.path)")
        }
        return (status.st_mtim.tv_sec, Int(status.st_size))
    }
}

/// Why a file could not be taken. Equal when the codes are equal.
package struct FileError: Error, Sendable {
    /// Kinds of failure.
    package enum Code: String, Sendable {
        case missing
        /// Not allowed, or not a file that can be read to its end.
        case unreadable
        /// Larger than such a file can sensibly be.
        case tooLarge
        /// A secret that others on this machine could read or replace.
        case exposed
        /// A secret of no bytes.
        case empty
    }

    package let code: Code
    /// Follows the file's path: what is wrong and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension FileError: Equatable {
    package static func == (left: FileError, right: FileError) -> Bool { left.code == right.code }
}
