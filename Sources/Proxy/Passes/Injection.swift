package import NIOCore
package import TokenModel

/// Which field carries the token, and what stands before it there. The one place of the data path that opens a token.
package struct Injection: Sendable, Hashable {
    package var header: String
    package var prefix: String

    package init(header: String = "Authorization", prefix: String = "Bearer ") {
        self.header = header
        self.prefix = prefix
    }

    /// The injected line and the empty line that ends the head.
    ///
    /// Tokens are checked for characters that could end a line when they are taken from a provider or an import.
    package func line(for pass: Pass) -> ByteBuffer {
        var line = ByteBuffer()
        line.reserveCapacity(self.header.utf8.count + self.prefix.utf8.count + pass.accessToken.count + 6)
        line.writeString("\(self.header): \(self.prefix)")
        pass.accessToken.withUnredacted { token in
            for index in token.indices { line.writeInteger(token[index]) }
        }
        line.writeStaticString("\r\n\r\n")
        return line
    }
}
