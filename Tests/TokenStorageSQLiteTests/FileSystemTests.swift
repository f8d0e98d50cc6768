import TestKit
import Testing
import TokenStorage
import TokenStorageSQLite

struct FileSystemTests {
    /// Magic numbers of statfs(2) and names of proc(5).
    @Test(
        arguments: [
            (0x6969, nil, "nfs"), (0xFF53_4D42, nil, "cifs"), (0xFE53_4D42, nil, "smb"), (0x0102_1997, nil, "9p"),
            (0x00C3_6400, nil, "ceph"), (0x6573_5546, "fuse.sshfs", "fuse.sshfs"),
            (0x6573_5546, "virtiofs", "virtiofs"),
            (0x6573_5546, "fuse.s3fs", "fuse.s3fs"), (0x6573_5546, "fuse.glusterfs", "fuse.glusterfs"),
            // Local file systems: ext4, xfs, btrfs, tmpfs, overlay, and three FUSE types.
            (0xEF53, nil, nil), (0x5846_5342, nil, nil), (0x9123_683E, nil, nil), (0x0102_1994, nil, nil),
            (0x794C_7630, nil, nil), (0x6573_5546, "fuse.fuse-overlayfs", nil), (0x6573_5546, "fuseblk", nil),
            (0x6573_5546, nil, nil),
        ] as [(Int, String?, String?)]
    )
    func `network file systems are told from local ones`(
        magic: Int,
        name: String?,
        network: String?
    ) {
        #expect(FileSystem(magic: magic, name: name).network == network)
    }

    @Test func `a database on a network file system is refused, and no file is made there`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store.db")

        let error = await #expect(throws: StoreError(.unwritable, "")) {
            _ = try await SQLiteTokenStore.open(at: path, on: { _ in FileSystem(magic: 0x6969, name: nil) })
        }

        #expect(error?.message.contains("network file system (nfs)") == true)
        #expect(error?.message.contains("a local disk in store.path") == true)
        #expect(try directory.contents() == [])
    }

    /// `/proc` has its type in /proc/self/mountinfo on every machine.
    @Test func `the file system of a path is looked up`() throws {
        #expect(FileSystem(of: "/proc/self/status")?.network == nil)
        #expect(FileSystem(of: "/proc/self/status") != nil)
        #expect(FileSystem(of: "/nowhere/store.db") == nil)
    }
}
