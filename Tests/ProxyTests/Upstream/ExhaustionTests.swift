import NIOCore
import Proxy
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct ExhaustionTests {
    @Test(arguments: [
        (EMFILE, GatewayError.Code.overloaded), (ENFILE, .overloaded), (EADDRNOTAVAIL, .overloaded),
        (ENOMEM, .overloaded),
        (ENOBUFS, .overloaded), (ECONNREFUSED, .upstreamUnreachable), (EHOSTUNREACH, .upstreamUnreachable),
    ])
    func `where this machine has nothing left to connect with, it is not the upstream's fault`(
        number: CInt,
        code: GatewayError.Code
    ) {
        #expect(GatewayError(dialling: IOError(errnoCode: number, reason: "connect")).code == code)
    }
}
