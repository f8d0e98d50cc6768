import HTTPWire
package import NIOCore
package import TokenModel

/// The `Date` line of an event loop's own answers (RFC 9110 §6.6.1), written anew once a second at most.
package struct DateLine {
    private var second: Int64?
    private var line = ByteBuffer()

    package init() {}

    /// The line with its CRLF.
    package mutating func bytes(at now: WallTime) -> ByteBuffer {
        let second = now.millisecondsSince1970 / 1_000
        if self.second != second {
            self.second = second
            self.line = ByteBuffer(string: "Date: \(now.httpDate)\r\n")
        }
        return self.line
    }
}
