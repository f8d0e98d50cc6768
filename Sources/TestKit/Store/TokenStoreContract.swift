internal import Testing
package import TokenModel
package import TokenStorage

/// What `TokenStore` asks of whoever implements it, as clauses that a driver's tests run one by one:
///
///     @Test(arguments: TokenStoreContract.clauses)
///     func `it keeps the contract`(clause: TokenStoreContract.Clause) async throws {
///         try await clause.check(TokenStoreContract.Subject(store: …, other: …))
///     }
package enum TokenStoreContract {
    /// An empty store of the driver under test.
    package struct Subject: Sendable {
        /// One way to its records.
        package let store: any TokenStore
        /// A second way to the same records, as another process has one; the same object where there is none.
        package let other: any TokenStore

        package init(store: any TokenStore, other: any TokenStore) {
            self.store = store
            self.other = other
        }
    }

    /// One thing that must hold, named as a sentence.
    package struct Clause: Sendable, CustomTestStringConvertible {
        package let testDescription: String
        /// Records an issue, or throws, where the subject does not keep it. Each check wants a new, empty subject.
        package let check: @Sendable (Subject) async throws -> Void

        init(_ sentence: String, _ check: @escaping @Sendable (Subject) async throws -> Void) {
            self.testDescription = sentence
            self.check = check
        }
    }

    /// All of them.
    package static let clauses: [Clause] = Self.records + Self.listing + Self.concurrency + Self.hints
}

extension TokenStore {
    /// Writes behind what was read: the version after `expecting`, or the first.
    ///
    /// - Returns: the version written.
    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        expecting: Version?
    ) async throws(StoreError) -> Version {
        let version = expecting?.next ?? .first
        try await self.write(value, at: key, as: version, expecting: expecting)
        return version
    }
}
