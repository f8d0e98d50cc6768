import Testing

/// All tests that talk to a real server on loopback.
@Suite(.timeLimit(.minutes(2))) struct LoopbackTests {}
