extension Result where Failure == any Error {
    /// The result of `body`, for callers that must clean up before they throw its error.
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
