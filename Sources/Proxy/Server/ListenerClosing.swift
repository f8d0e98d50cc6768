import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// How a listening socket is closed: whoever has connected and waits in its queue is taken in first, since the kernel
/// would reset those.
///
/// Between the last look and the end there are microseconds. With `net.ipv4.tcp_migrate_req` the kernel hands those who
/// come just then to another socket of the same port, where a successor has one.
enum ListenerClosing {
    /// A flood must not hold up the end: so often is looked, a millisecond or more apart.
    private static let looks = 1_000

    static func close(_ listener: any Channel) async {
        let closed = listener.eventLoop.makePromise(of: Void.self)
        listener.eventLoop.execute { Self.attempt(listener, looks: Self.looks, closed) }
        try? await closed.futureResult.get()
    }

    private static func attempt(_ listener: any Channel, looks: Int, _ closed: EventLoopPromise<Void>) {
        guard looks > 0, Self.isAnyonePending(at: listener) || Self.isAnyoneWaiting(at: listener) else {
            return listener.close(promise: closed)
        }
        // In between the loop takes them in.
        listener.eventLoop.scheduleTask(in: .milliseconds(1)) { Self.attempt(listener, looks: looks - 1, closed) }
    }

    /// Someone was accepted whom another loop has still to take over.
    private static func isAnyonePending(at listener: any Channel) -> Bool {
        (try? listener.pipeline.syncOperations.handler(type: HandoverWatch.self))?.isAnyonePending == true
    }

    private static func isAnyoneWaiting(at listener: any Channel) -> Bool {
        let isReadable = try? listener.pipeline.syncOperations.withUnsafeTransportIfAvailable { (socket: CInt) in
            var look = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            return unsafe poll(&look, 1, 0) == 1
        }
        return isReadable == true
    }
}
