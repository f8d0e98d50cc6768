/// Text from the system's random source. Letters and digits need no quoting in a shell, a URL, YAML or a header field.
enum RandomText {
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

    /// 43 characters have 256 bits: 43 × log2(62) = 256.03.
    static func lettersAndDigits(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<count).map { _ in Self.alphabet[Int.random(in: Self.alphabet.indices, using: &generator)] })
    }
}
