package import TokenModel
package import TokenStorage

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
