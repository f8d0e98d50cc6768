import Testing
import TokenModel
import TokenStorage

struct KeyRingTextTests {
    /// 32 times `A` and 32 times `B`, in Base64.
    private static let keyA = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
    private static let keyB = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI="

    private func parse(_ text: String) throws(KeyRingError) -> KeyRing {
        try KeyRingText(Secret(text), name: "sealing.key").parsed()
    }

    @Test(arguments: [
        keyA, keyA + "\n", "\(keyA)\r\n", "  \(keyA)\t\n", "# a comment\n\n\(keyA)\n", "\(keyA)\n  # \(keyB)\n",
    ])
    func `a key is on a line of its own, among comments and empty lines`(text: String) throws {
        let ring = try self.parse(text)

        #expect(ring.current == SealingKey(Secret(String(repeating: "A", count: 32))))
        #expect(ring.retired.isEmpty)
    }

    @Test func `the first key seals and the others open`() throws {
        let ring = try self.parse("\(Self.keyB)\n\(Self.keyA)\n")

        #expect(ring.current == SealingKey(Secret(String(repeating: "B", count: 32))))
        #expect(ring.retired == [SealingKey(Secret(String(repeating: "A", count: 32)))])
    }

    @Test(arguments: [
        ("\(keyA)\nQUFB\n", 2), ("\n\n\(keyA) \(keyB)\n", 3), ("\(keyA)=\n", 1), ("sealing key\n", 1),
        ("\(keyA)\n\(keyB)\n\(keyA)\n", 3), ("\(keyA.dropLast(1))\n", 1), ("\u{FEFF}\(keyA)\n", 1),
        ("\(keyA)\u{0}\n", 1), ("\(keyA)QUFB\n", 1),
    ])
    func `the error for an invalid line names the line and does not show it`(text: String, line: Int) throws {
        let error = #expect(throws: KeyRingError(.malformed, "")) { try self.parse(text) }

        let message = try #require(error?.message)
        #expect(message.contains("sealing.key, line \(line):"))
        #expect(!message.contains("QUFB"))
        #expect(!message.contains("QkJC"))
    }

    @Test(arguments: ["", "\n", "# nothing but this\n"])
    func `text without a key is refused`(text: String) {
        #expect(throws: KeyRingError(.malformed, "")) { try self.parse(text) }
    }

    @Test func `provided keys open a store without being made`() throws {
        let given = try GivenKeyRing(KeyRingText(Secret(Self.keyA), name: "MARTLET_SEALING_KEY"))

        #expect(try given.existing()?.current == given.make().current)
        #expect(given.name == "MARTLET_SEALING_KEY")
    }
}
