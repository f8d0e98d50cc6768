import Glibc
import SystemSupport
import TestKit
import Testing

@Suite struct UnixSocketFileTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        self.directory = try TemporaryDirectory()
        self.path = self.directory.path(of: "m.sock")
    }

    @Test(arguments: [0o600, 0o660, 0o666])
    func `a socket has the requested mode`(mode: Int) throws {
        let (file, socket) = try UnixSocketFile.bind(self.path, mode: UInt32(mode))
        defer { close(socket) }
        #expect(try self.directory.mode(of: "m.sock") == mode)
        file.setMode(0o600)
        #expect(try self.directory.mode(of: "m.sock") == 0o600)
        file.remove()
        #expect(try self.directory.contents().isEmpty)
    }

    @Test(arguments: [0o777, 0o775, 0o770, 0o733, 0o702])
    func `a directory that others can write to is refused, with its owner and mode`(mode: Int) throws {
        try self.directory.setMode(mode, of: "")
        for replacing in [false, true] {
            let error = #expect(throws: SocketFileError.self) {
                _ = try UnixSocketFile.bind(self.path, mode: 0o600, replacing: replacing)
            }
            #expect(error?.path == self.path)
            let user = geteuid()
            let found = "(mode 0\(String(mode, radix: 8)), owner \(user), and this process is user \(user))"
            #expect(error?.reason.contains(found) == true, "\(error as Any)")
        }
        #expect(try self.directory.contents().isEmpty)
    }

    @Test(arguments: [0o700, 0o755, 0o1777, 0o1770])
    func `a directory of this user or a sticky directory is accepted`(mode: Int) throws {
        try self.directory.setMode(mode, of: "")
        let (file, socket) = try UnixSocketFile.bind(self.path, mode: 0o600)
        close(socket)
        file.remove()
    }

    @Test func `a socket is closed to others even if its directory was opened to them`() throws {
        let (file, socket) = try UnixSocketFile.bind(self.path, mode: 0o666)
        defer { close(socket) }
        try self.directory.setMode(0o777, of: "")
        file.setMode(0o600)
        #expect(try self.directory.mode(of: "m.sock") == 0o600)
    }
}
