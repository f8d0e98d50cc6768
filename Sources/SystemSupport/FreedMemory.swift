internal import CShims

/// Memory that the process has given back to its allocator. What was in it stays there until it is used again.
package enum FreedMemory {
    /// Whether the allocator overwrites all memory that is given back from now on. That costs time, so it is meant for a
    /// process that gives up its secrets.
    package static func overwrites(_ overwrites: Bool) { martlet_overwrite_freed(overwrites) }

    /// Gives memory that nobody uses back to the system, which clears it.
    package static func release() { martlet_release_freed() }
}
