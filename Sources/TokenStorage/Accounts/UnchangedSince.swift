package import TokenModel

/// Since when something of another process's was seen unchanged, by reads that succeeded at most 2 s apart.
///
/// Whoever goes by another's silence counts with this: no clock is compared with another's. A gap (this process was
/// stopped, or the store was away) starts the count anew, for the other may have been stopped too.
package struct UnchangedSince<Content: Equatable & Sendable>: Equatable, Sendable {
    package private(set) var content: Content
    /// The first read that found it, with gaps after it or not.
    package private(set) var noticedAt: BootInstant
    /// The first read that found it, without a gap since.
    package private(set) var start: BootInstant
    private var lastReadAt: BootInstant

    /// Reads further apart than this prove nothing about the time between them.
    package static var longestGap: Duration { .seconds(2) }

    /// Takes the first read, which ended at `now`.
    package init(_ content: Content, at now: BootInstant) {
        self.content = content
        self.noticedAt = now
        self.start = now
        self.lastReadAt = now
    }

    /// Takes a read that ended at `now`. One that ended before another which was taken already says nothing new.
    ///
    /// - Returns: for how long it is known to be unchanged.
    @discardableResult
    package mutating func saw(_ content: Content, at now: BootInstant) -> Duration {
        guard now >= self.lastReadAt else { return self.start.duration(to: self.lastReadAt) }
        if content != self.content {
            self = UnchangedSince(content, at: now)
        } else if self.lastReadAt.duration(to: now) > Self.longestGap {
            self.start = now
        }
        self.lastReadAt = now
        return self.start.duration(to: now)
    }
}
