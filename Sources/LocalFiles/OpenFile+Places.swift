internal import Glibc

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
