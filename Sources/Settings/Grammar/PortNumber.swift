/// The number behind the colon of an address.
enum PortNumber {
    /// 0 (the system chooses) to 65535, in digits only.
    static func parse(_ text: some StringProtocol) throws(ValueError) -> Int {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit), let port = Int(text),
            port <= 65_535
        else {
            throw ValueError(
                "has no port between 0 and 65535 behind its last colon; an IPv6 address needs brackets: [::1]"
            )
        }
        return port
    }
}
