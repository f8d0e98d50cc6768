import Testing

/// Everything that talks to a real server on loopback: one at a time, because time limits are among what is tested.
@Suite(.serialized, .timeLimit(.minutes(2))) struct LoopbackTests {}
