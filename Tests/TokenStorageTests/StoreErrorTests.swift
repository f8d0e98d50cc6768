import Testing
import TokenModel
import TokenStorage

struct StoreErrorTests {
    @Test func `it prints its code and message, and no part of a record`() {
        let record = StoredRecord(version: .first, value: SealedBytes(bytes: [0xAB, 0xCD]))

        #expect("\(StoreError.conflict(record))" == "conflict: the record was changed by another writer")
        #expect("\(record.value)" == "2 sealed bytes")
    }
}
