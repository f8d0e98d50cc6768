import HTTPWire
import NIOCore

/// Answers whose body may say that the token is dead: each is read whole before anything of it goes to the caller. The
/// head has told that it is no longer than ``DeadToken/bodyLimit``.
extension Exchange {
    func examine(_ answer: ResponseHead) {
        guard self.machine.examined() == .read else { return self.abort() }
        self.heldAnswer = answer
        self.heldBody = ByteBuffer()
    }

    func keepAnswer(_ bytes: ByteBuffer) {
        self.heldBody?.writeImmutableBuffer(bytes)
    }

    /// The answer is whole. Its connection is done with, whatever comes of it.
    func judgeExamined(isReusable: Bool) {
        guard let route = self.match?.route, let answer = self.heldAnswer, let body = self.heldBody else {
            return self.abort()
        }
        self.releaseUpstream(reusable: isReusable && self.requestEncoder.isEnded)
        // Its connection may have been lost with the last of the request.
        guard self.machine.phase == .examining else { return }
        let isDead = route.plan.retryOn.contains { $0.isShown(by: answer, body) }
        self.judge(answer, on: route, isDeadToken: isDead)
    }

    /// The rest of an answer that was read whole follows its head.
    func passHeldBody() {
        guard let body = self.heldBody else { return }
        self.heldBody = nil
        self.answerBytes(body)
        self.answerEnded(nil, isReusable: false)
    }
}
