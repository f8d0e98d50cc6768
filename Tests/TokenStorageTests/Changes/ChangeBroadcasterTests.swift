import TestKit
import Testing
import TokenModel
import TokenStorage

struct ChangeBroadcasterTests {
    private let broadcaster = ChangeBroadcaster()

    private static func change(_ number: Int) -> RecordChange {
        RecordChange(key: .account(String(number)), version: .first)
    }

    @Test func `finishing the broadcaster ends all streams, including later ones`() async throws {
        let before = self.broadcaster.listen()
        self.broadcaster.finish()
        let after = self.broadcaster.listen()

        try await within("the streams' end") {
            for await _ in before {}
            for await _ in after {}
        }
        #expect(!self.broadcaster.hasListeners)
    }

    @Test func `a listener that does not read keeps a bounded number of hints, the newest ones`() async {
        let stream = self.broadcaster.listen()
        let count = ChangeBroadcaster.bufferLimit + 10
        for number in 0..<count { self.broadcaster.announce(Self.change(number)) }
        self.broadcaster.finish()

        let heard = await stream.reduce(into: []) { $0.append($1) }

        #expect(heard.count == ChangeBroadcaster.bufferLimit)
        #expect(heard.last == Self.change(count - 1))
    }

    @Test func `a dropped stream is no longer a listener`() {
        do {
            let stream = self.broadcaster.listen()
            withExtendedLifetime(stream) { #expect(self.broadcaster.hasListeners) }
        }
        #expect(!self.broadcaster.hasListeners)
    }
}
