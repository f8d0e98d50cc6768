internal import Glibc

/// The operating system's own words.
enum SystemText {
    /// What an `errno` means.
    static func reason(_ number: CInt) -> String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: text)
    }
}
