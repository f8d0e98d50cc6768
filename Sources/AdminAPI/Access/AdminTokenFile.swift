internal import Glibc
internal import TokenModel
internal import TokenStorage

/// The file with the admin tokens: one a line, all of them valid.
package struct AdminTokenFile: Sendable {
    private let path: String

    package init(path: String) {
        self.path = path
    }

    /// Reads the tokens; makes the file with a random one first where it is missing.
    ///
    /// The file is there whole or not at all, for its owner only. Of several processes that make it at once one does,
    /// and all read the same.
    package func open() throws(AdminTokenError) -> AdminTokens {
        if let tokens = try self.existing() { return tokens }
        do throws(FileError) {
            _ = try WholeFile.create(at: self.path, holding: Self.randomLine())
        } catch {
            throw AdminTokenError(
                .inaccessible,
                "\(error.message): the admin token is made there at first start, in a directory this user can write"
            )
        }
        return try self.read()
    }

    /// Reads the tokens of a file that must be there.
    package func read() throws(AdminTokenError) -> AdminTokens {
        guard let tokens = try self.existing() else {
            throw AdminTokenError(.inaccessible, "there is no admin token file at \(self.path); a start makes one")
        }
        return tokens
    }

    /// - Returns: `nil` where there is no file.
    private func existing() throws(AdminTokenError) -> AdminTokens? {
        guard let bytes = try self.contents() else { return nil }
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        guard lines.allSatisfy({ line in line.allSatisfy(TokenText.isTokenByte) }) else {
            throw AdminTokenError(
                .malformed,
                "\(self.path) holds a line that is no admin token: a token is printable ASCII without spaces, one a line"
            )
        }
        guard let tokens = AdminTokens(lines.map { Secret($0) }) else {
            throw AdminTokenError(
                .malformed,
                "\(self.path) holds no admin token; remove it and a start makes a new one"
            )
        }
        return tokens
    }

    private func contents() throws(AdminTokenError) -> [UInt8]? {
        // A pipe without a writer must not hold up the start.
        let descriptor = unsafe Glibc.open(self.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return nil }
            throw self.inaccessible()
        }
        defer { close(descriptor) }
        try self.checkKeeping(descriptor)
        var bytes = [UInt8](repeating: 0, count: Self.sizeLimit + 1)
        var count = 0
        while count < bytes.count {
            let step = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { throw self.inaccessible() }
            guard step > 0 else { break }
            count += step
        }
        guard count <= Self.sizeLimit else {
            throw AdminTokenError(
                .malformed,
                "\(self.path) is no file of admin tokens: it is over \(Self.sizeLimit) bytes"
            )
        }
        return Array(bytes.prefix(count))
    }

    /// Refuses a file that others can read or write where this user is the one who could have prevented it; what only
    /// root can change (a mounted secret) has whatever mode it was mounted with.
    private func checkKeeping(_ descriptor: CInt) throws(AdminTokenError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw self.inaccessible() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw AdminTokenError(.inaccessible, "\(self.path) is no file of admin tokens: it is no regular file")
        }
        let isWritableByUs = unsafe faccessat(AT_FDCWD, self.path, W_OK, AT_EACCESS) == 0
        guard isWritableByUs, status.st_mode & 0o066 != 0 else { return }
        throw AdminTokenError(
            .exposed,
            "\(self.path) can be read or written by others (mode \(String(status.st_mode & 0o777, radix: 8))), and it "
                + "holds admin tokens: chmod 600 \(self.path)"
        )
    }

    private func inaccessible() -> AdminTokenError {
        AdminTokenError(
            .inaccessible,
            "can't read \(self.path): \(FileError.text(of: errno)); the admin tokens must be readable by this user"
        )
    }

    /// 256 random bits as text, and the end of the line.
    private static func randomLine() -> Secret {
        var generator = SystemRandomNumberGenerator()
        let drawn = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Secret(Base64URL.encode(drawn) + [UInt8(ascii: "\n")])
    }

    private static let sizeLimit = 65_536
}
