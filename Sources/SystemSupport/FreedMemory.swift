internal import CShims

/// Memory that the process does not use any more. It was overwritten when it was given back (`free` in the C shims), so
/// nothing of a token or key stays in it.
package enum FreedMemory {
    /// Gives it back to the system.
    package static func release() { martlet_release_freed() }
}
