internal import CSQLiteShims
internal import Glibc
internal import SystemSupport
internal import TokenStorage

/// The file system of a path, as far as it matters to a database.
package struct FileSystem: Sendable {
    /// The name of the file system if other machines may access the same files; `nil` for a local one.
    ///
    /// Processes on other machines do not share the memory that SQLite's write-ahead log needs, and often not even
    /// locks.
    package let network: String?

    /// File system types as statfs(2) returns them, from `linux/magic.h` and the kernel's file systems.
    private static let networks: [Int: String] = [
        0x6969: "nfs", 0x517B: "smb", 0xFF53_4D42: "cifs", 0xFE53_4D42: "smb", 0x0102_1997: "9p", 0x00C3_6400: "ceph",
        0x5346_414F: "afs", 0x6B41_4653: "afs", 0x7375_7245: "coda", 0x564C: "ncp", 0x0BD0_0BD0: "lustre",
        0x4750_4653: "gpfs", 0x0116_1970: "gfs2", 0x7461_636F: "ocfs2", 0x786F_4256: "vboxsf", 0xBACB_ACBC: "vmhgfs",
    ]
    private static let fuse = 0x6573_5546

    /// Some FUSE file systems are local, such as an overlay, so remote ones are recognized by name.
    private static let remoteNames = [
        "sshfs", "s3", "goofys", "rclone", "gluster", "ceph", "gcsfuse", "blobfuse", "davfs", "curlftpfs", "smbnetfs",
        "juicefs", "mfs", "lizardfs", "seaweed", "weed", "gvfs", "virtiofs", "grpcfuse", "vmhgfs", "beegfs", "onedrive",
    ]

    /// - Parameters:
    ///   - magic: the number of the file system type.
    ///   - name: its type in the kernel's mount table, such as `fuse.sshfs`.
    package init(magic: Int, name: String?) {
        if let network = Self.networks[magic] {
            self.network = network
        } else if magic == Self.fuse, let name, Self.remoteNames.contains(where: name.lowercased().contains) {
            self.network = name
        } else {
            self.network = nil
        }
    }

    /// The file system that the file at `path` is on or would be on; `nil` if that is unknown.
    package init?(of path: String) {
        let directory = WholeFile.directory(of: path)
        let magic = unsafe Int(martlet_file_system(directory))
        var status = stat()
        guard magic >= 0, unsafe stat(directory, &status) == 0 else { return nil }
        self.init(magic: magic, name: magic == Self.fuse ? Self.mountedName(on: status.st_dev) : nil)
    }

    /// Rejects the database at `path` if it is on a network file system.
    func check(path: String) throws(StoreError) {
        guard let network = self.network else { return }
        throw StoreError(
            .unwritable,
            "the database \(path) is on a network file system (\(network)), where processes of several machines lose each "
                + "other's commits; name a file on a local disk in store.path, in a container one on a volume of its host"
        )
    }

    /// The type of the file system on a device, from `/proc/self/mountinfo` (proc(5)).
    private static func mountedName(on device: dev_t) -> String? {
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & ~0xFF
        guard let table = try? OpenFile.contents(of: "/proc/self/mountinfo", limit: 4 << 20) else { return nil }
        for line in String(decoding: table, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count > 2, words[2] == "\(major):\(minor)", let dash = words.firstIndex(of: "-") else {
                continue
            }
            return words.dropFirst(dash + 1).first.map(String.init)
        }
        return nil
    }
}
