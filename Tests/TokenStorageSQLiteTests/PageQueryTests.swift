import GRDB
import TestKit
import Testing
import TokenStorageSQLite

struct PageQueryTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    @Test func `a page is read between two bounds of the index, however many keys follow its prefix`() async throws {
        // Given a database created by a store
        let path = self.directory.path(of: "store.db")
        let store = try await SQLiteTokenStore.open(at: path)
        // When SQLite explains its query plan for a page of a prefix
        let queue = try DatabaseQueue(path: path)
        let plan = try await queue.read { database in
            try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + Records.pageSQL, arguments: [nil, nil])
                .map { $0["detail"] as String }
        }
        // Then the query begins and ends within the index and sorts nothing
        #expect(plan.count == 1)
        #expect(plan.first?.hasSuffix("(key>? AND key<?)") == true, "\(plan)")
        await store.close()
    }
}
