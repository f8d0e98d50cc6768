import Settings
import Testing

/// The name of a replica, and how long it keeps working without the store.
@Suite struct ReplicaTests {
    @Test func `by default, a replica has the host's name and a lease of 10 s`() throws {
        let replica = try settings(of: SampleFile().text).replica
        #expect(replica.name == nil)
        #expect(replica.lease == .seconds(10))
    }

    @Test func `a replica has the configured name and lease`() throws {
        let replica = try settings(of: SampleFile().adding("replica: { name: a, lease: 3s }").text).replica
        #expect(replica.name == "a")
        #expect(replica.lease == .seconds(3))
    }

    @Test(arguments: ["999ms", "301s", "10"])
    func `a lease below a second, above five minutes or without a unit is a fault`(lease: String) {
        let found = faults(of: SampleFile().adding("replica: { lease: \(lease) }").text)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("12:19: replica.lease: ") == true)
    }
}
