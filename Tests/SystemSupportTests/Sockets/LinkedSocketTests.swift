internal import Foundation
internal import Glibc
internal import SystemSupport
internal import TestKit
internal import Testing

@Suite struct LinkedSocketTests {
    private let directory: TemporaryDirectory
    private let link: String

    init() throws {
        self.directory = try TemporaryDirectory()
        self.link = self.directory.path(of: "admin.sock")
    }

    private var names: [String] { get throws { try self.directory.contents().sorted() } }

    /// A listening socket that the link points to.
    private func bound() throws -> (socket: LinkedSocket, descriptor: CInt) {
        let (socket, descriptor) = try LinkedSocket.bind(beside: self.link)
        try socket.announce()
        return (socket, descriptor)
    }

    @Test func `each process has its own socket, and the link points to the latest`() throws {
        // Given one process
        let (first, one) = try self.bound()
        defer { close(one) }
        #expect(LinkedSocket.path(behind: self.link) == first.path)
        #expect(try self.directory.mode(of: URL(filePath: first.path).lastPathComponent) == 0o600)
        // When another process starts beside it
        let (second, two) = try LinkedSocket.bind(beside: self.link)
        defer { close(two) }
        // Then the link does not point to the new socket until it is announced
        #expect(LinkedSocket.path(behind: self.link) == first.path)
        try second.announce()
        #expect(LinkedSocket.path(behind: self.link) == second.path)
        #expect(first.path != second.path)
        #expect(try self.names.count == 3)
    }

    @Test func `when the latest process stops, the link points to the one that still runs`() throws {
        let (first, one) = try self.bound()
        defer { close(one) }
        let (second, two) = try self.bound()
        second.remove()
        close(two)
        #expect(LinkedSocket.path(behind: self.link) == first.path)
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: self.link)
        #expect(target == URL(filePath: first.path).lastPathComponent)
    }

    @Test func `when an older process stops, the link stays`() throws {
        let (first, one) = try self.bound()
        let (second, two) = try self.bound()
        defer { close(two) }
        first.remove()
        close(one)
        #expect(LinkedSocket.path(behind: self.link) == second.path)
    }

    @Test func `when the latest process has died, one that still listens is found`() throws {
        let (first, one) = try self.bound()
        defer { close(one) }
        let (_, two) = try self.bound()
        // Closed but not removed, as after a SIGKILL.
        close(two)
        #expect(LinkedSocket.path(behind: self.link) == first.path)
    }

    @Test func `when the last process stops, the link stays and points to no listener`() throws {
        let (socket, descriptor) = try self.bound()
        socket.remove()
        close(descriptor)
        #expect(try self.names == ["admin.sock"])
        #expect(LinkedSocket.path(behind: self.link) == self.link)
        // And a process that can't have a socket removes the link
        LinkedSocket.removeDeadLink(self.link)
        #expect(try self.names.isEmpty)
        #expect(LinkedSocket.path(behind: self.link) == nil)
    }

    @Test func `sockets of dead processes are removed, and files that are not sockets stay`() throws {
        let (_, one) = try self.bound()
        close(one)
        try self.directory.write([], to: "admin.sock.abcdef")
        try self.directory.write([], to: "admin.sock.x")
        let (second, two) = try self.bound()
        defer { close(two) }
        let own = URL(filePath: second.path).lastPathComponent
        #expect(try self.names == ["admin.sock", "admin.sock.abcdef", "admin.sock.x", own].sorted())
    }

    @Test func `nothing is removed while another process holds the directory`() throws {
        // Given a socket that looks dead, like one that does not listen yet
        let (first, one) = try self.bound()
        close(one)
        let holder = unsafe open(self.directory.path, O_RDONLY | O_DIRECTORY)
        try #require(holder >= 0)
        let held = flock(holder, LOCK_EX)
        try #require(held == 0)
        // When another process starts
        let error = #expect(throws: SocketFileError.self) { _ = try LinkedSocket.bind(beside: self.link) }
        close(holder)
        // Then it waits for the directory before it removes anything
        #expect(error?.reason.contains("another process holds its directory") == true)
        #expect(try self.names.contains(URL(filePath: first.path).lastPathComponent))
    }

    @Test func `the link of a listening process is not removed`() throws {
        let (socket, descriptor) = try self.bound()
        defer { close(descriptor) }
        LinkedSocket.removeDeadLink(self.link)
        #expect(LinkedSocket.path(behind: self.link) == socket.path)
    }

    @Test func `a file that is not a link is not replaced`() throws {
        try self.directory.write([1], to: "admin.sock")
        let (socket, descriptor) = try LinkedSocket.bind(beside: self.link)
        defer { close(descriptor) }
        let error = #expect(throws: SocketFileError.self) { try socket.announce() }
        #expect(error?.reason.contains("not a symbolic link") == true)
        #expect(self.directory.bytes(of: "admin.sock") == [1])
        #expect(LinkedSocket.path(behind: self.link) == nil)
    }

    @Test func `the error for a path that is too long says so`() throws {
        let long = self.directory.path(of: String(repeating: "a", count: 108))
        let error = #expect(throws: SocketFileError.self) { _ = try LinkedSocket.bind(beside: long) }
        #expect(error?.reason.contains("too long") == true)
        #expect(LinkedSocket.path(behind: long) == nil)
    }
}
