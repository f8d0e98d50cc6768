/// What a process had of file descriptors when it began to listen; each configuration gets its share out of it.
struct DescriptorRoom: Sendable {
    /// As ``DescriptorBudget`` takes them.
    let limit: Int?
    let used: Int
    let eventLoops: Int
    let listeners: Int

    func budget(wanted: Int) -> DescriptorBudget {
        DescriptorBudget(
            wanted: wanted,
            limit: self.limit,
            used: self.used,
            eventLoops: self.eventLoops,
            listeners: self.listeners
        )
    }
}
