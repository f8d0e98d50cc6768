internal import ArgumentParser
internal import MockServers

/// `cert.pem,key.pem` on the command line.
struct TLSFilesArgument: ExpressibleByArgument {
    let files: MockOptions.TLSFiles

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.files = MockOptions.TLSFiles(certificate: parts[0], privateKey: parts[1])
    }
}
