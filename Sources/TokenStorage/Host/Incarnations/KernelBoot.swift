internal import LocalFiles

/// The running boot of the host's kernel: containers of one host share it, and no two hosts do. A machine's own id is no
/// substitute, since images carry copies of it.
enum KernelBoot {
    /// As Linux draws it at each boot; `nil` where it does not say.
    static let id: String? = {
        guard let bytes = try? OpenFile.contents(of: "/proc/sys/kernel/random/boot_id", limit: 64) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        return text.isEmpty ? nil : text
    }()
}
