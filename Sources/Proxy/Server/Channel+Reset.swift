import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

extension Channel {
    /// From here on its close is a reset, so that what was sent can't be taken for whole.
    func resetOnClose() {
        guard let socket = self as? any SocketOptionProvider else { return }
        _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    }
}
