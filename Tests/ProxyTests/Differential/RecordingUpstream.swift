import NIOCore
import Synchronization

/// An upstream that responds to every request, and keeps all bytes of each connection.
final class RecordingUpstream: Sendable {
    struct Connection: Sendable {
        let peer: Peer
        /// The requests that arrived, each as its bytes.
        var requests: [[UInt8]] = []
        /// The number of bytes after the last request.
        var rest = 0
    }

    private struct State {
        var connections: [Connection] = []
        /// Serials of requests whose token was refused.
        var refused: Set<String> = []
    }

    private let state = Mutex(State())

    /// The connections accepted so far.
    var connections: [Connection] { self.state.withLock(\.connections) }

    /// Responds on each connection that arrives, until the task is cancelled.
    func run(_ upstream: Upstream) async {
        await withDiscardingTaskGroup { group in
            defer { for connection in self.connections { connection.peer.close() } }
            while !Task.isCancelled {
                let peer: Peer
                // No further connection may arrive for a long time, and `accept()` times out then.
                do { peer = try await upstream.accept() } catch { continue }
                let index = self.state.withLock { state in
                    state.connections.append(Connection(peer: peer))
                    return state.connections.count - 1
                }
                group.addTask { await self.serve(peer, index) }
            }
        }
    }

    private func serve(_ peer: Peer, _ index: Int) async {
        while let request = await self.next(peer, index) {
            let text = String(decoding: request, as: UTF8.self)
            let serial = text.split(separator: "\r\n").first { $0.hasPrefix("X-Serial: ") }.map(String.init) ?? ""
            let isRefused = self.state.withLock { state in
                state.connections[index].requests.append(request)
                return text.contains("\r\nX-Refuse: once\r\n") && state.refused.insert(serial).inserted
            }
            let refusal =
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\nContent-Length: 0\r\n\r\n"
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + (text.hasPrefix("HEAD ") ? "" : "ok")
            do { try await peer.send(isRefused ? refusal : answer) } catch { return }
        }
    }

    private func next(_ peer: Peer, _ index: Int) async -> [UInt8]? {
        let request = try? await peer.take("a request") { view in
            let length = WholeRequest.length(view)
            self.state.withLock { $0.connections[index].rest = view.count - (length ?? 0) }
            return length
        }
        return request.map { Array($0.readableBytesView) }
    }
}
