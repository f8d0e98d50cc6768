import Approvals
import Testing
import TokenModel
import TokenStorage

@Suite struct ApprovalRecordTests {
    private static let records = [
        ApprovalRecord(
            until: WallTime(millisecondsSince1970: 1_767_226_500_000),
            by: "anne from 10.0.0.1",
            at: WallTime(millisecondsSince1970: 1_767_225_600_000),
            observedEpoch: Epoch(7),
            observedEntry: KillID("4d2a")
        ),
        ApprovalRecord(
            until: WallTime(millisecondsSince1970: .max),
            by: nil,
            at: WallTime(millisecondsSince1970: .min),
            observedEpoch: .start,
            observedEntry: nil
        ),
    ]

    @Test(arguments: records)
    func `an approval is decoded as it was encoded`(record: ApprovalRecord) throws {
        #expect(try ApprovalRecord(decoding: record.encoded()) == record)
    }

    @Test(arguments: records)
    func `truncated, extended and changed bytes are an error or another approval`(record: ApprovalRecord) throws {
        let bytes = record.encoded().withUnredacted { span in span.indices.map { span[$0] } }
        for count in bytes.indices {
            #expect(throws: StoreError(.unreadable, ""), "the first \(count) bytes") {
                try ApprovalRecord(decoding: Secret(bytes.prefix(count)))
            }
        }
        #expect(throws: StoreError(.unreadable, "")) { try ApprovalRecord(decoding: Secret(bytes + [0])) }
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            guard let other = try? ApprovalRecord(decoding: Secret(changed)) else { continue }
            #expect(other != record, "byte \(index)")
        }
    }
}
