/// One moment on both clocks, read together.
///
/// Ages and deadlines are counted on `boot`, which never jumps; `wall` is only written into records, shown, and compared
/// with what records say.
package struct Moment: Hashable, Sendable {
    package let boot: BootInstant
    package let wall: WallTime

    package init(boot: BootInstant, wall: WallTime) {
        self.boot = boot
        self.wall = wall
    }
}
