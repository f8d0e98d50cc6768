extension Result where Failure == any Error {
    /// What `body` comes to, for those who have something to clean up first.
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
