/// The form of names of providers, accounts and routes: `[A-Za-z0-9._-]{1,64}`.
///
/// They stand in metric labels, log lines and paths of the admin API, hence no other characters, and neither `.` nor `..`.
enum ConfiguredName {
    static func check(_ name: String) throws(ValueError) {
        let bytes = name.utf8
        let isPlain = bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
        guard isPlain, (1...64).contains(bytes.count) else {
            throw ValueError("a name has 1 to 64 letters, digits, dots, underscores or hyphens")
        }
        guard name != ".", name != ".." else { throw ValueError("a name must be more than dots") }
    }
}
