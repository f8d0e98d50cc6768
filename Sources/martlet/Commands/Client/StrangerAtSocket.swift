internal import Listening
internal import NIOCore

/// On the gateway's socket listens a process of somebody who is not trusted with that.
struct StrangerAtSocket: Error {
    /// `nil` where the kernel does not tell.
    let user: UInt32?

    /// What is wrong there, behind the socket's path.
    var message: String {
        let who = self.user.map { "user \($0)" } ?? "a user that the kernel does not name"
        return "is listened on by a process of \(who), which is neither this user nor root"
    }

    /// Closes a connection unless the process that listens there is one of these users'.
    static func refuse(on connection: any Channel, unlessOf owners: Set<UInt32>) -> EventLoopFuture<Void> {
        connection.peerIdentity().flatMapThrowing { peer in
            if let peer, owners.contains(peer.user) { return }
            connection.close(promise: nil)
            throw StrangerAtSocket(user: peer?.user)
        }
    }
}
