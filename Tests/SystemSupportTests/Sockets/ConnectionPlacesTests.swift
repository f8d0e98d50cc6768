import NIOCore
import NIOEmbedded
import SystemSupport
import Testing

@Suite struct ConnectionPlacesTests {
    /// A connection that ends when it has to give way.
    private final class Peer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        let channel = EmbeddedChannel()
        private(set) var hasGivenWay = false

        init() throws { try self.channel.pipeline.syncOperations.addHandler(self) }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ConnectionPlaces.GivesWay { self.hasGivenWay = true }
        }
    }

    /// Connections that have come in this order, and have their places.
    private func peers(_ count: Int, in places: ConnectionPlaces) throws -> [Peer] {
        try (0..<count).map { _ in
            let peer = try Peer()
            #expect(places.arrive(peer.channel) == .admitted)
            return peer
        }
    }

    @Test func `given no free place, the strangers give way in the order in which they came`() throws {
        let places = ConnectionPlaces(3)
        let peers = try self.peers(3, in: places)
        for expected in [[true, false, false], [true, true, false]] {
            #expect(try places.arrive(Peer().channel) == .admittedInPlaceOfAnother)
            #expect(peers.map(\.hasGivenWay) == expected)
        }
        #expect(places.connections.count == 3)
    }

    @Test func `a connection that was recognized keeps its place, and strangers that came later give way`() throws {
        let places = ConnectionPlaces(2)
        let peers = try self.peers(2, in: places)
        #expect(places.recognize(peers[0].channel))
        #expect(try places.arrive(Peer().channel) == .admittedInPlaceOfAnother)
        #expect(peers.map(\.hasGivenWay) == [false, true])
        // What it has authenticated counts for nothing: its place is gone
        #expect(!places.recognize(peers[1].channel))
    }

    @Test func `given only recognized connections with requests, a newcomer is turned away`() throws {
        let places = ConnectionPlaces(1)
        let peers = try self.peers(1, in: places)
        places.recognize(peers[0].channel)
        #expect(try places.arrive(Peer().channel) == .turnedAway)

        // When it has ended, there is a place
        places.leave(peers[0].channel)
        #expect(try places.arrive(Peer().channel) == .admitted)
    }

    @Test func `given only recognized connections, the one that rests for longest gives way`() throws {
        let places = ConnectionPlaces(3)
        let peers = try self.peers(3, in: places)
        for peer in peers { places.recognize(peer.channel) }
        for peer in [peers[2], peers[0], peers[1]] { places.rest(peer.channel) }
        places.wake(peers[2].channel)
        #expect(try places.arrive(Peer().channel) == .admittedInPlaceOfAnother)
        #expect(peers.map(\.hasGivenWay) == [true, false, false])
    }

    @Test func `a stranger that has had a response stays one, and keeps its turn`() throws {
        let places = ConnectionPlaces(2)
        let peers = try self.peers(2, in: places)
        places.wake(peers[0].channel)
        places.rest(peers[0].channel)
        #expect(try places.arrive(Peer().channel) == .admittedInPlaceOfAnother)
        #expect(peers.map(\.hasGivenWay) == [true, false])
    }

    @Test func `given many that come and go, the oldest stranger still gives way`() throws {
        let places = ConnectionPlaces(3)
        let peers = try self.peers(2, in: places)
        for _ in 1...1_000 {
            let passing = try Peer()
            #expect(places.arrive(passing.channel) == .admitted)
            places.leave(passing.channel)
        }
        _ = try self.peers(1, in: places)
        #expect(try places.arrive(Peer().channel) == .admittedInPlaceOfAnother)
        #expect(peers.map(\.hasGivenWay) == [true, false])
    }

    @Test func `a lowered limit takes no place away, and a newcomer takes one place`() throws {
        let places = ConnectionPlaces(3)
        let peers = try self.peers(3, in: places)
        places.limit = 1
        #expect(try places.arrive(Peer().channel) == .admittedInPlaceOfAnother)
        #expect(peers.count { $0.hasGivenWay } == 1)
    }
}
