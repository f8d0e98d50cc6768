import Settings
import Testing

@Suite struct LimitTests {
    @Test func `limits on connections and time have defaults`() throws {
        let limits = try settings(of: SampleFile().text).limits
        #expect(limits.connections == 10_000)
        #expect(!limits.namesConnections)
        #expect(limits.connectionsPerAddress == 0)
        #expect(limits.headMemory == 64 << 20)
        #expect(limits.replayMemory == 64 << 20)
        #expect(limits.headerTimeout == .seconds(10))
        #expect(limits.handshakeTimeout == .seconds(10))
        #expect(limits.bodyRate == 1_024)
        #expect(limits.idleTimeout == .seconds(60))
    }

    @Test func `each limit can be set`() throws {
        let file = SampleFile().adding(
            """
            limits:
              connections: 7
              connections_per_address: 6
              head_memory: 8MiB
              replay_memory: 5MiB
              header_timeout: 4s
              handshake_timeout: 3s
              body_rate: 2B
              idle_timeout: 1h
            """
        )
        let limits = try settings(of: file.text).limits
        #expect(limits.connections == 7)
        #expect(limits.namesConnections)
        #expect(limits.connectionsPerAddress == 6)
        #expect(limits.headMemory == 8 << 20)
        #expect(limits.replayMemory == 5 << 20)
        #expect(limits.headerTimeout == .seconds(4))
        #expect(limits.handshakeTimeout == .seconds(3))
        #expect(limits.bodyRate == 2)
        #expect(limits.idleTimeout == .seconds(3_600))
    }

    @Test func `the summary names limits that are off`() throws {
        let file = SampleFile().adding("limits: { connections_per_address: 20, body_rate: 0B }")
        let summary = SettingsSummary(try settings(of: file.text)).description
        #expect(summary.contains("connections 10000, 20 of one address, idle for 1m,"))
        #expect(summary.contains("bodies at any pace, 64MiB of them kept"))
    }
}
