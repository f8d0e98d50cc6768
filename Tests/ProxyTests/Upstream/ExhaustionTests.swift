import NIOCore
import Proxy
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct ExhaustionTests {
    @Test(arguments: [(EMFILE, true), (ENFILE, true), (ENOMEM, true), (ENOBUFS, true), (ECONNABORTED, false)])
    func `a listener that lacks resources to accept waits before it tries again`(number: CInt, pauses: Bool) {
        let pause = Admission.pause(after: IOError(errnoCode: number, reason: "accept"))
        #expect(pause == (pauses ? .milliseconds(250) : nil))
    }

    @Test(arguments: [
        (EMFILE, GatewayError.Code.overloaded), (ENFILE, .overloaded), (EADDRNOTAVAIL, .overloaded),
        (ENOMEM, .overloaded),
        (ENOBUFS, .overloaded), (ECONNREFUSED, .upstreamUnreachable), (EHOSTUNREACH, .upstreamUnreachable),
    ])
    func `if this machine lacks resources to connect, the upstream is not blamed`(
        number: CInt,
        code: GatewayError.Code
    ) {
        #expect(GatewayError(dialling: IOError(errnoCode: number, reason: "connect")).code == code)
    }
}
