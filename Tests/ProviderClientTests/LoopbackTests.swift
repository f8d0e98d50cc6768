import Testing

/// All tests that talk to a real server on loopback. They run one at a time, because some of them test time limits.
@Suite(.serialized, .timeLimit(.minutes(2))) struct LoopbackTests {}
