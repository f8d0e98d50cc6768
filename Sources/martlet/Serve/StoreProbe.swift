internal import TokenStorage

/// Finds out whether the store can be read. However many ask at once, anybody may, the store is asked once.
actor StoreProbe {
    private let store: any TokenStore
    private var asked: Task<Bool, Never>?

    init(_ store: any TokenStore) {
        self.store = store
    }

    func isOpen() async -> Bool {
        if let asked { return await asked.value }
        let store = self.store
        let asking = Task {
            do throws(StoreError) {
                return try await store.read(.canary) != nil
            } catch {
                return false
            }
        }
        self.asked = asking
        let isOpen = await asking.value
        self.asked = nil
        return isOpen
    }
}
