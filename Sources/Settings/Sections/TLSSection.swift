internal import LocalFiles

/// The keys of a provider's `tls` and of a route's `upstream_tls`.
enum TLSKey: String, Vocabulary {
    case certificateAuthorities = "ca"

    static let later = ["certificate", "key"]
}

extension Place {
    /// A file beside the configuration that is there and can be opened.
    func readableFile() -> String? {
        guard let path = self.file(under: self.reading.surroundings.configurationDirectory) else { return nil }
        do throws(FileError) {
            try self.reading.surroundings.checkReadable(path)
        } catch {
            self.fault("\(path) \(error.message)")
        }
        return path
    }
}
