internal import Glibc
internal import TokenModel

/// An open file, which is closed when this value is destroyed. Operations act on the same file even if its name later
/// refers to another one.
package struct OpenFile: ~Copyable, Sendable {
    let number: Int32
    let path: String

    /// - Parameter flags: the flags of `open(2)`; `O_CLOEXEC` is added.
    package init(opening path: String, _ flags: Int32, mode: UInt32 = 0) throws(SystemCallError) {
        let number = Self.retrying { unsafe Glibc.open(path, flags | O_CLOEXEC, mode) }
        guard number >= 0 else { throw SystemCallError(errno, "can't open \(path)") }
        self.number = number
        self.path = path
    }

    deinit {
        // A child process that is being started shares this file until its program runs. Without the unlock, the child
        // would keep the lock until then.
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

    /// Waits until written data would survive a power loss.
    package func synchronize() throws(SystemCallError) {
        guard Self.retrying({ fsync(self.number) }) == 0 else {
            throw SystemCallError(errno, "can't sync \(self.path)")
        }
    }

    /// The file's kind, owner and permissions.
    package func ownership() throws(SystemCallError) -> FileOwnership {
        var status = stat()
        guard unsafe fstat(self.number, &status) == 0 else {
            throw SystemCallError(errno, "can't look at \(self.path)")
        }
        return FileOwnership(status)
    }

    /// Repeats a system call that a signal interrupts (`EINTR`).
    static func retrying<Number: FixedWidthInteger>(_ call: () -> Number) -> Number {
        while true {
            let result = call()
            guard result == -1, errno == EINTR else { return result }
        }
    }
}

extension OpenFile {
    /// Reads the whole regular file at `path`. A pipe or a device is refused without waiting for data.
    ///
    /// - Parameters:
    ///   - limit: in bytes; a larger file is refused.
    ///   - isOwn: refuses a file that anybody but this user and root can have put there, or can change.
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
    /// Reserves disk space for the first `count` bytes of the file, so that a later write of them can't fail for lack
    /// of space. New bytes are zero.
    package func allocate(_ count: Int) throws(SystemCallError) {
        // The call returns the error number and leaves errno unchanged.
        var error: Int32
        repeat { error = posix_fallocate(self.number, 0, count) } while error == EINTR
        guard error == 0 else { throw SystemCallError(error, "can't make room for \(self.path)") }
    }

    /// Writes all of `bytes` at `offset` and overwrites what was there.
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

    /// Takes the file's exclusive lock without waiting (flock(2)). The lock ends when this file is closed, or when the
    /// process ends for any reason.
    ///
    /// - Returns: whether the lock was free.
    package func lock() throws(SystemCallError) -> Bool {
        guard Self.retrying({ flock(self.number, LOCK_EX | LOCK_NB) }) != 0 else { return true }
        guard errno == EWOULDBLOCK else { throw SystemCallError(errno, "can't lock \(self.path)") }
        return false
    }

    /// Releases the lock that ``lock()`` took.
    package func unlock() {
        _ = Self.retrying { flock(self.number, LOCK_UN) }
    }

    /// Takes a second lock of the file without waiting (fcntl(2), a lock of the open file description). It is
    /// independent of ``lock()``.
    ///
    /// - Returns: whether there is no need to wait: the lock was free, or the system has no such locks.
    package func lockQueue() -> Bool {
        self.setQueueLock(F_WRLCK) || errno != EAGAIN && errno != EACCES
    }

    /// Releases the lock that ``lockQueue()`` took.
    package func unlockQueue() { _ = self.setQueueLock(F_UNLCK) }

    private func setQueueLock(_ type: Int32) -> Bool {
        var range = flock()
        range.l_type = Int16(type)
        range.l_whence = Int16(SEEK_SET)
        // `F_OFD_SETLK` of Linux's <fcntl.h>. Swift's Glibc module does not export it.
        let setLock: Int32 = 37
        return Self.retrying { unsafe fcntl(self.number, setLock, &range) } == 0
    }

    /// Whether the path still names this file. It may be gone, or name another file.
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

    /// The time of the file's last change in seconds since 1970, and its size in bytes.
    package func extent() throws(SystemCallError) -> (changedAt: Int, count: Int) {
        var status = stat()
        guard unsafe fstat(self.number, &status) == 0 else {
            throw SystemCallError(errno, "can't look at \(self.path)")
        }
        return (status.st_mtim.tv_sec, Int(status.st_size))
    }
}

/// The reason that a file can't be used. Two errors are equal when their codes are equal.
package struct FileError: Error, Sendable {
    /// Kinds of failure.
    package enum Code: String, Sendable {
        case missing
        /// The system refuses to read it, or it is not a regular file.
        case unreadable
        /// The file exceeds the size limit.
        case tooLarge
        /// A secret that others on this machine could read or replace.
        case exposed
        /// The file holds no secret, only newlines or nothing.
        case empty
    }

    package let code: Code
    /// What is wrong and what would help. The text follows the file's path.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension FileError: Equatable {
    package static func == (left: FileError, right: FileError) -> Bool { left.code == right.code }
}

/// A failed system call on a file. Two errors are equal when their numbers are equal.
package struct SystemCallError: Error, Sendable {
    /// The `errno` of the call that failed.
    package let number: Int32
    /// What failed, on which path, and the system's text for the error.
    package let message: String

    /// - Parameter attempt: what failed, such as `can't open /path`.
    package init(_ number: Int32, _ attempt: String) {
        self.number = number
        self.message = "\(attempt): \(Self.text(of: number))"
    }

    /// Whether the file or directory does not exist.
    package var isMissing: Bool { self.number == ENOENT }

    /// The system's text for an `errno`.
    package static func text(of number: Int32) -> String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: text)
    }
}

extension SystemCallError: CustomStringConvertible {
    package var description: String { self.message }
}

extension SystemCallError: Equatable {
    package static func == (left: SystemCallError, right: SystemCallError) -> Bool { left.number == right.number }
}
