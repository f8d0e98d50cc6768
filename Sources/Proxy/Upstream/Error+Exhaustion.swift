import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#endif

extension Error {
    /// What was tried could not even begin: this machine or process has nothing left for it.
    var isExhaustion: Bool {
        switch self {
        case let error as IOError:
            // EADDRNOTAVAIL is what connect(2) says when all local ports are taken.
            [EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL].contains(error.errnoCode)
        case let error as NIOConnectionError:
            error.connectionErrors.contains { $0.error.isExhaustion }
        default:
            false
        }
    }
}
